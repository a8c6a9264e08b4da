"""The widgets of three dashboards: payments, tasks and costs."""

from aws_cdk import aws_cloudwatch

from infra.environment import Environment
from infra.watch.alarm import Series
from infra.watch.widgets import Widgets
from postdate.runtime import metric


def payments(page: Widgets) -> list[aws_cloudwatch.IWidget]:
    return [
        page.own(
            "Outcomes",
            "settle",
            *(metric.PAYMENTS_SETTLED, metric.PAYMENTS_FAILED, metric.PAYMENTS_LATE, metric.BOOKS_DISAGREE),
        ),
        page.logged("Money moved", "settle", metric.MONEY_MOVED),
        page.logged("Holds created", "api", metric.HOLDS_CREATED),
        page.own("Lateness", "settle", metric.PAYMENT_LATENESS, statistics=("p50", "p95", "p99", "Maximum")),
        page.own(
            "Queueing and execution",
            "settle",
            *(metric.PAYMENT_WAIT, metric.PAYMENT_EXECUTION),
            statistics=("p50", "p95", "p99"),
        ),
        page.logged("Payments left to a person", "settle", metric.PAYMENTS_PARKED),
        page.own("Messages", "settle", metric.PACKETS, metric.REDELIVERIES),
        page.logged("Balances changed", "settle", metric.BALANCE_UPDATES),
        page.logged(
            "Calls and messages",
            "settle",
            *(metric.CALLS_DROPPED, metric.CALLS_DEFERRED, metric.CALLS_STOPPED),
            metric.MESSAGES_FAILED,
            metric.PAYMENTS_STUMBLED,
        ),
    ]


def tasks(page: Widgets) -> list[aws_cloudwatch.IWidget]:
    return [
        page.own(
            "Outcomes",
            "run_tasks",
            *(metric.TASKS_SUCCEEDED, metric.TASKS_DEAD),
        ),
        page.own("Attempts whose worker died", "run_tasks", metric.LEASES_EXPIRED),
        page.logged(
            "Begun, accepted, repeated, expired",
            "run_tasks",
            *(metric.TASKS_CLAIMED, metric.TASKS_ACCEPTED, metric.TASKS_RETRIED, metric.TASKS_EXPIRED),
            metric.TASKS_LATE,
        ),
        page.logged(
            "Failed attempts by class",
            "run_tasks",
            *(each for each in metric.ATTEMPTS_FAILED.values() if each.in_logs),
        ),
        page.own(
            "Attempts that were not sent, for a reason of ours",
            "run_tasks",
            metric.ATTEMPTS_FAILED[metric.UNTRIED],
        ),
        page.by_tier("Tasks that ended, by tier", "run_tasks", metric.TIER_ENDED, "Sum"),
        page.by_tier("Lateness by tier", "run_tasks", metric.TIER_LATENESS, "p50", "p99"),
        page.own(
            "Queueing: lateness",
            "run_tasks",
            metric.TASK_LATENESS,
            statistics=("p50", "p95", "p99", "Maximum"),
        ),
        page.own(
            "Execution: time of attempts",
            "run_tasks",
            metric.TASK_EXECUTION,
            statistics=("p50", "p95", "p99"),
        ),
        page.logged(
            "Runs of recurring tasks that did not begin",
            "run_tasks",
            *(metric.RUNS_QUEUED, metric.RUNS_SKIPPED, metric.RUNS_MISSED, metric.RUNS_VOID),
        ),
        page.own("Destinations that are no longer called", "run_tasks", metric.BREAKERS_OPENED),
        page.logged(
            "Flow control and destinations",
            "run_tasks",
            *(metric.CALLS_POSTPONED, metric.CALLS_MOVED, metric.DESTINATIONS_SLOW),
        ),
        page.own("Messages", "run_tasks", metric.PACKETS, metric.REDELIVERIES),
        page.logged(
            "Calls and messages",
            "run_tasks",
            *(metric.CALLS_DROPPED, metric.CALLS_DEFERRED, metric.CALLS_STOPPED),
            metric.MESSAGES_FAILED,
            metric.FENCED_OFF,
        ),
    ]


def cost(page: Widgets, environment: Environment) -> list[aws_cloudwatch.IWidget]:
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

    tables = ("items", "payments", "accounts", "journal", "slots", "flow", "events")
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
