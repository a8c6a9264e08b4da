"""Four dashboards: the service, payments, tasks, and what they cost. Each graph shows the thresholds of its alarms."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from aws_cdk import Duration, aws_cloudwatch
from constructs import Construct

from infra.environments import Environment
from infra.watch.alarm import API_ID, Series
from infra.watch.table import QUEUES, alarms
from postdate.runtime import metric
from postdate.runtime.metric import Metric

MakeMetric = Callable[..., aws_cloudwatch.Metric]
_WIDTH: Final = 12
_PERIOD: Final = 60


class _Page:
    def __init__(self, environment: Environment, make: MakeMetric) -> None:
        self._environment = environment
        self._make = make
        self._alarms = alarms(environment)

    def own(
        self, title: str, function: str, *emitted: Metric, statistics: Iterable[str] = ("Sum",)
    ) -> aws_cloudwatch.GraphWidget:
        of_function = (("service", self._environment.named(function)),)
        return self.graph(
            title,
            *(
                Series(namespace="Postdate", name=each.name, statistic=statistic, dimensions=of_function)
                for each in emitted
                for statistic in statistics
            ),
        )

    def graph(self, title: str, *shown: Series) -> aws_cloudwatch.GraphWidget:
        return aws_cloudwatch.GraphWidget(
            title=title,
            width=_WIDTH,
            left=[
                self._make(series, period=_PERIOD).with_(
                    label=f"{_place(series)} {series.name} {series.statistic}"
                )
                for series in shown
            ],
            left_annotations=[
                aws_cloudwatch.HorizontalAnnotation(value=alarm.threshold, label=alarm.name)
                for alarm in self._alarms
                if not alarm.expression and next(iter(alarm.series.values())) in shown and alarm.threshold
            ],
        )


def _place(series: Series) -> str:
    return " ".join(value.removeprefix("postdate-") for _, value in series.dimensions)


def add_dashboards(
    scope: Construct,
    *,
    environment: Environment,
    metric: MakeMetric,
    alarms: Mapping[str, aws_cloudwatch.AlarmBase],
) -> None:
    page = _Page(environment, metric)
    for name, widgets in (
        ("service", _service(page, environment, list(alarms.values()))),
        ("payments", _payments(page)),
        ("tasks", _tasks(page)),
        ("cost", _cost(page, environment)),
    ):
        aws_cloudwatch.Dashboard(
            scope,
            f"dashboard-{name}",
            dashboard_name=environment.named(name),
            default_interval=Duration.hours(3),
            widgets=[[each] for each in widgets],
        )


def _service(
    page: _Page, environment: Environment, made: list[aws_cloudwatch.AlarmBase]
) -> list[aws_cloudwatch.IWidget]:
    def queues(name: str) -> list[Series]:
        return [
            Series(
                namespace="AWS/SQS",
                name=name,
                statistic="Maximum",
                dimensions=(("QueueName", environment.named(queue)),),
            )
            for each in QUEUES
            for queue in (each, f"{each}-dlq")
        ]

    return [
        aws_cloudwatch.AlarmStatusWidget(title="Alarms", alarms=made, width=24, height=6),
        page.own(
            "Is it on time: payments", "settle", metric.PAYMENT_LATENESS, statistics=("p50", "p95", "p99")
        ),
        page.own("Is it on time: tasks", "run_tasks", metric.TASK_LATENESS, statistics=("p50", "p95", "p99")),
        page.own("What is behind: the sweep", "sweep", metric.BEHIND, statistics=("Minimum",)),
        page.graph("What is behind: queues", *queues("ApproximateNumberOfMessagesVisible")),
        page.graph("What is behind: oldest messages", *queues("ApproximateAgeOfOldestMessage")),
        page.own(
            "Is the timer running",
            "sweep",
            *(metric.WAKE_UPS, metric.TICKS, metric.PASSES_FAILED, metric.OVERDUE, metric.CALLS_SENT),
        ),
        page.own("Requests", "api", metric.REQUESTS),
        page.graph("Answers of the gateway", *_answers()),
        page.own(
            "Registered", "api", metric.PAYMENTS_SCHEDULED, metric.HOLDS_CREATED, metric.TASKS_SCHEDULED
        ),
        page.own(
            "Time of requests",
            "api",
            *(metric.REGISTER_TIME, metric.CANCEL_TIME, metric.STATUS_TIME),
            statistics=("p95",),
        ),
        page.own("API keys", "authorize", metric.KEYS_ACCEPTED, metric.KEYS_REFUSED, metric.KEYS_NOT_READ),
    ]


def _answers() -> list[Series]:
    return [
        Series(namespace="AWS/ApiGateway", name=name, statistic="Sum", dimensions=(("ApiId", API_ID),))
        for name in ("Count", "4xx", "5xx")
    ]


def _payments(page: _Page) -> list[aws_cloudwatch.IWidget]:
    return [
        page.own(
            "Outcomes",
            "settle",
            *(metric.PAYMENTS_SETTLED, metric.PAYMENTS_FAILED, metric.PAYMENTS_LATE, metric.BOOKS_DISAGREE),
        ),
        page.own("Money moved", "settle", metric.MONEY_MOVED),
        page.own("Lateness", "settle", metric.PAYMENT_LATENESS, statistics=("p50", "p95", "p99", "Maximum")),
        page.own(
            "Attempts",
            "settle",
            *(metric.PAYMENTS_STUMBLED, metric.PAYMENTS_PARKED, metric.CALLS_DROPPED, metric.CALLS_DEFERRED),
        ),
        page.own("Messages", "settle", metric.PACKETS, metric.REDELIVERIES, metric.MESSAGES_FAILED),
    ]


def _tasks(page: _Page) -> list[aws_cloudwatch.IWidget]:
    return [
        page.own(
            "Outcomes",
            "run_tasks",
            *(metric.TASKS_SUCCEEDED, metric.TASKS_DEAD, metric.TASKS_EXPIRED, metric.TASKS_ACCEPTED),
        ),
        page.own(
            "Attempts",
            "run_tasks",
            *(metric.TASKS_CLAIMED, metric.TASKS_RETRIED, metric.FENCED_OFF, metric.TASKS_LATE),
        ),
        page.own("Lateness", "run_tasks", metric.TASK_LATENESS, statistics=("p50", "p95", "p99", "Maximum")),
        page.own(
            "Runs of recurring tasks that did not begin",
            "run_tasks",
            *(metric.RUNS_QUEUED, metric.RUNS_SKIPPED, metric.RUNS_MISSED, metric.RUNS_VOID),
        ),
        page.own(
            "Flow control and destinations",
            "run_tasks",
            *(metric.CALLS_POSTPONED, metric.CALLS_MOVED, metric.BREAKERS_OPENED, metric.DESTINATIONS_SLOW),
        ),
        page.own(
            "Messages",
            "run_tasks",
            *(metric.PACKETS, metric.REDELIVERIES, metric.MESSAGES_FAILED),
            *(metric.CALLS_DROPPED, metric.CALLS_DEFERRED),
        ),
    ]


def _cost(page: _Page, environment: Environment) -> list[aws_cloudwatch.IWidget]:
    def of_functions(name: str, statistic: str) -> list[Series]:
        return [
            Series(
                namespace="AWS/Lambda",
                name=name,
                statistic=statistic,
                dimensions=(("FunctionName", environment.named(function)),),
            )
            for function in environment.functions
        ]

    tables = ("items", "payments", "accounts", "journal", "slots", "flow")
    return [
        page.graph("Invocations", *of_functions("Invocations", "Sum")),
        page.graph("Seconds of functions", *of_functions("Duration", "Sum")),
        *(
            page.graph(
                title,
                *(
                    Series(
                        namespace="AWS/DynamoDB",
                        name=name,
                        statistic="Sum",
                        dimensions=(("TableName", environment.table(table)),),
                    )
                    for table in tables
                ),
            )
            for title, name in (
                ("Write units", "ConsumedWriteCapacityUnits"),
                ("Read units", "ConsumedReadCapacityUnits"),
            )
        ),
    ]
