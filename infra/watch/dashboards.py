"""Four dashboards: the service, payments, tasks, and costs. Each graph shows the thresholds of its alarms."""

from collections.abc import Mapping

from aws_cdk import Duration, aws_cloudwatch
from constructs import Construct

from infra.environment import Environment
from infra.watch.alarm import API_ID, Series
from infra.watch.pages import cost, payments, tasks
from infra.watch.series import QUEUES, queues
from infra.watch.widgets import MakeMetric, Widgets
from postdate.runtime import metric


def add_dashboards(
    scope: Construct,
    *,
    environment: Environment,
    metric: MakeMetric,
    alarms: Mapping[str, aws_cloudwatch.AlarmBase],
) -> None:
    page = Widgets(environment, metric)
    for name, widgets in (
        ("service", _service(page, environment, list(alarms.values()))),
        ("payments", payments(page)),
        ("tasks", tasks(page)),
        ("cost", cost(page, environment)),
    ):
        aws_cloudwatch.Dashboard(
            scope,
            f"dashboard-{name}",
            dashboard_name=environment.named(name),
            default_interval=Duration.hours(3),
            widgets=[[_links(environment)], *([each] for each in widgets)],
        )


def _links(environment: Environment) -> aws_cloudwatch.TextWidget:
    pages = " · ".join(
        f"[{name}](#dashboards/dashboard/{environment.named(name)})"
        for name in ("service", "payments", "tasks", "cost")
    )
    return aws_cloudwatch.TextWidget(
        markdown=f"{pages} · Each alarm names its entry in docs/runbook.md. "
        f"The alarms that fire: `.venv/bin/postdate alarms --env {environment.name}`",
        width=24,
        height=2,
    )


def _service(
    page: Widgets, environment: Environment, made: list[aws_cloudwatch.AlarmBase]
) -> list[aws_cloudwatch.IWidget]:
    def of_queues(name: str) -> list[Series]:
        return [
            Series(
                namespace="AWS/SQS",
                name=name,
                statistic="Maximum",
                dimensions=(("QueueName", environment.named(queue)),),
            )
            for queue in (*queues(environment), *(f"{each}-dlq" for each in QUEUES))
        ]

    return [
        aws_cloudwatch.AlarmStatusWidget(title="Alarms", alarms=made, width=24, height=6),
        page.own(
            "Is it on time: payments", "settle", metric.PAYMENT_LATENESS, statistics=("p50", "p95", "p99")
        ),
        page.own("Is it on time: tasks", "run_tasks", metric.TASK_LATENESS, statistics=("p50", "p95", "p99")),
        page.own("What is behind: the sweep", "sweep", metric.BEHIND, statistics=("Minimum",)),
        page.graph("What is behind: queues", *of_queues("ApproximateNumberOfMessagesVisible")),
        page.graph("What is behind: oldest messages", *of_queues("ApproximateAgeOfOldestMessage")),
        page.own(
            "Is the timer running",
            "sweep",
            *(metric.WAKE_UPS, metric.TICKS, metric.PASSES_FAILED, metric.OVERDUE),
        ),
        page.own("Is it on time: items due, and not begun", "sweep", metric.ITEMS_DUE, metric.ITEMS_WAITING),
        page.logged("Calls that the sweep sent", "sweep", metric.CALLS_SENT),
        page.own("Requests", "api", metric.REQUESTS),
        page.graph("Answers of the gateway", *_answers()),
        page.logged("Registered", "api", metric.PAYMENTS_SCHEDULED, metric.TASKS_SCHEDULED),
        page.own(
            "Time of requests",
            "api",
            *(metric.REGISTER_TIME, metric.CANCEL_TIME, metric.STATUS_TIME),
            statistics=("p95",),
        ),
        page.graph(
            "Events: what is behind",
            Series(
                namespace="AWS/Lambda",
                name="IteratorAge",
                statistic="Maximum",
                dimensions=(("FunctionName", environment.named("record")),),
            ),
            Series(
                namespace="AWS/SQS",
                name="ApproximateNumberOfMessagesVisible",
                statistic="Maximum",
                dimensions=(("QueueName", environment.named("events-dlq")),),
            ),
        ),
        page.logged("Delays of what is registered", "api", *metric.DELAYS.values()),
        page.logged(
            "Cancelled and rescheduled",
            "api",
            *(metric.PAYMENTS_CANCELLED, metric.PAYMENTS_RESCHEDULED),
            *(metric.TASKS_CANCELLED, metric.TASKS_RESCHEDULED),
        ),
        page.own("Audits that found a contradiction", "api", metric.AUDITS_FAILED),
        page.logged("Audits that found none", "api", metric.AUDITS_PASSED),
        page.own("Reconciliations that found a contradiction", "reconcile", metric.RECONCILIATIONS_DIFFER),
        page.logged("Reconciliations that came to their end", "reconcile", metric.RECONCILED),
        page.own("API keys that could not be read", "authorize", metric.KEYS_NOT_READ),
        page.logged("API keys", "authorize", metric.KEYS_ACCEPTED, metric.KEYS_REFUSED),
    ]


def _answers() -> list[Series]:
    return [
        Series(namespace="AWS/ApiGateway", name=name, statistic="Sum", dimensions=(("ApiId", API_ID),))
        for name in ("Count", "4xx", "5xx")
    ]
