"""The table of alarms. Every alarm has an entry of its name in docs/runbook.md."""

from collections.abc import Iterator
from typing import Final

from infra.environments import Environment
from infra.watch.alarm import API_ID, Alarm, Comparison, Composite, Missing, Series, Severity
from postdate.runtime import metric
from postdate.runtime.metric import Metric

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400
QUEUES: Final = ("tasks", "payments", "ticks")
# A message carries up to 25 items.
_BACKLOG_MESSAGES: Final = 1_000_000 // 25
# Below so many payments in a window one failure would be more than the share that the alarm allows.
_FEW: Final = {5 * MINUTE: 20, HOUR: 1000}
# How many times too fast an error budget is spent, and over which windows: a long one, and a short one that ends the
# page soon after the fault.
_BURNS: Final = (
    ("fast", 14.4, (HOUR, 5 * MINUTE)),
    ("steady", 6.0, (6 * HOUR, 30 * MINUTE)),
)
LATE_BUDGET: Final = 0.001
UNAVAILABLE_BUDGET: Final = 0.0001


def alarms(environment: Environment) -> tuple[Alarm, ...]:
    """All alarms on metrics, parts of composite alarms included."""
    return (
        *_payments(environment),
        *_tasks(environment),
        *_timer(environment),
        *_queues(environment),
        *_requests(environment),
        *_capacity(environment),
    )


def composites(environment: Environment) -> tuple[Composite, ...]:
    """Alarms on alarms: one page for one cause."""
    return (
        _either(
            "timer_down", "No minute is opened: nothing new falls due.", ("wake_ups_missing", "sweep_behind")
        ),
        *(
            _both(
                f"payments_late_{speed}",
                "payments_late",
                f"Payments are late: {factor}x of the error budget.",
            )
            for speed, factor, _ in _BURNS
        ),
        *(
            _both(
                f"api_unavailable_{speed}",
                "api_unavailable",
                f"Requests fail: {factor}x of the error budget.",
            )
            for speed, factor, _ in _BURNS
        ),
        Composite(
            name="payments_slow",
            meaning="Payments complete late, and the timer is not the reason.",
            severity=Severity.PAGE,
            rule="payment_p95_over_1s AND NOT timer_down",
            parts=("payment_p95_over_1s", "timer_down"),
        ),
    )


def _either(name: str, meaning: str, parts: tuple[str, ...]) -> Composite:
    return Composite(name=name, meaning=meaning, severity=Severity.PAGE, rule=" OR ".join(parts), parts=parts)


def _both(name: str, entry: str, meaning: str) -> Composite:
    parts = (f"{name}_long", f"{name}_short")
    return Composite(
        name=name, entry=entry, meaning=meaning, severity=Severity.PAGE, rule=" AND ".join(parts), parts=parts
    )


def _own(environment: Environment, function: str, emitted: Metric, statistic: str = "Sum") -> Series:
    if function not in emitted.functions:
        raise ValueError(f"{function} does not emit {emitted.name}")
    return Series(
        namespace="Postdate",
        name=emitted.name,
        statistic=statistic,
        dimensions=(("service", environment.named(function)),),
    )


def _payments(environment: Environment) -> Iterator[Alarm]:
    ended = {
        "failed": _own(environment, "settle", metric.PAYMENTS_FAILED),
        "settled": _own(environment, "settle", metric.PAYMENTS_SETTLED),
    }
    for name, severity, percent, period, count in (
        ("payment_failures_over_1_percent", Severity.PAGE, 1.0, 5 * MINUTE, 3),
        ("payment_failures_over_0_1_percent", Severity.TICKET, 0.1, HOUR, 1),
    ):
        yield Alarm(
            name=name,
            meaning=f"More than {percent} % of the payments fail.",
            severity=severity,
            entry="payment_failures",
            series=ended,
            expression=f"IF(failed + settled >= {_FEW[period]}, 100 * failed / (failed + settled), 0)",
            threshold=percent,
            period=period,
            datapoints=count,
            periods=count,
        )
    for name, severity, milliseconds in (
        ("payment_p95_over_1s", Severity.PART, 1000),
        ("payment_p95_over_500ms", Severity.TICKET, 500),
    ):
        yield Alarm(
            name=name,
            meaning=f"One payment of 20 completes more than {milliseconds} ms after its instant.",
            severity=severity,
            entry="payments_slow",
            series={"lateness": _own(environment, "settle", metric.PAYMENT_LATENESS, "p95")},
            threshold=milliseconds,
            datapoints=3,
            periods=3,
        )
    late = {"late": _own(environment, "settle", metric.PAYMENTS_LATE), "settled": ended["settled"]}
    yield from _burns(
        "payments_late",
        "Share of payments that completed more than 1 s late.",
        series=late,
        expression="IF(settled >= 20, late / settled, 0)",
        budget=LATE_BUDGET,
    )
    yield Alarm(
        name="balance_inconsistency",
        meaning="An account or the journal contradicts a payment.",
        severity=Severity.PAGE,
        series={"disagreeing": _own(environment, "settle", metric.BOOKS_DISAGREE)},
        threshold=0,
    )
    yield Alarm(
        name="contention",
        meaning="Transactions on accounts conflict more than 1,000 times a minute.",
        severity=Severity.TICKET,
        series={
            "conflicts": Series(
                namespace="AWS/DynamoDB",
                name="TransactionConflict",
                statistic="Sum",
                dimensions=(("TableName", environment.table("accounts")),),
            )
        },
        threshold=1000,
        datapoints=5,
        periods=5,
    )


def _tasks(environment: Environment) -> Iterator[Alarm]:
    yield Alarm(
        name="tasks_die",
        meaning="More than 5 % of the tasks that end fail for the last time.",
        severity=Severity.TICKET,
        series={
            "dead": _own(environment, "run_tasks", metric.TASKS_DEAD),
            "succeeded": _own(environment, "run_tasks", metric.TASKS_SUCCEEDED),
        },
        expression="IF(dead + succeeded >= 20, 100 * dead / (dead + succeeded), 0)",
        threshold=5,
        period=5 * MINUTE,
        datapoints=3,
        periods=3,
    )
    yield Alarm(
        name="tasks_late",
        meaning="One task of 100 begins more than 30 s after its instant.",
        severity=Severity.TICKET,
        series={"lateness": _own(environment, "run_tasks", metric.TASK_LATENESS, "p99")},
        threshold=30_000,
        datapoints=5,
        periods=5,
    )
    yield Alarm(
        name="destination_down",
        meaning="A destination failed so often that it is no longer called.",
        severity=Severity.TICKET,
        series={"opened": _own(environment, "run_tasks", metric.BREAKERS_OPENED)},
        threshold=0,
        period=5 * MINUTE,
    )
    for function in ("run_tasks", "settle"):
        yield Alarm(
            name=f"leases_expire_{function}",
            entry="leases_expire",
            meaning=f"More than one message of 20 comes to {function} again: workers die, or leases are too short.",
            severity=Severity.TICKET,
            series={
                "again": _own(environment, function, metric.REDELIVERIES),
                "packets": _own(environment, function, metric.PACKETS),
            },
            expression="IF(again >= 3, 100 * again / packets, 0)",
            threshold=5,
            period=5 * MINUTE,
            datapoints=2,
            periods=3,
        )


def _timer(environment: Environment) -> Iterator[Alarm]:
    yield Alarm(
        name="wake_ups_missing",
        entry="timer_down",
        meaning="Neither the tick nor the heartbeat wakes the sweep.",
        severity=Severity.PART,
        series={"wake_ups": _own(environment, "sweep", metric.WAKE_UPS)},
        threshold=1,
        comparison=Comparison.BELOW,
        datapoints=3,
        periods=3,
        missing=Missing.BREACHING,
    )
    yield Alarm(
        name="tick_missing",
        meaning="EventBridge Scheduler sends no tick. The sweep's heartbeat goes on, and nobody would restart it.",
        severity=Severity.TICKET,
        series={"ticks": _own(environment, "sweep", metric.TICKS)},
        threshold=1,
        comparison=Comparison.BELOW,
        datapoints=5,
        periods=5,
        missing=Missing.BREACHING,
    )
    yield Alarm(
        name="sweep_behind",
        entry="timer_down",
        meaning="The sweep has not closed a minute that ended more than 3 minutes ago.",
        severity=Severity.PART,
        series={"behind": _own(environment, "sweep", metric.BEHIND, "Minimum")},
        threshold=3,
        datapoints=3,
        periods=3,
        # A tick that fails says nothing.
        missing=Missing.BREACHING,
    )
    yield Alarm(
        name="passes_fail",
        meaning="Passes of the sweep fail.",
        severity=Severity.TICKET,
        series={"failed": _own(environment, "sweep", metric.PASSES_FAILED)},
        threshold=0,
        datapoints=3,
        periods=5,
    )
    yield Alarm(
        name="overdue",
        meaning="The audit found items that no message and no worker had. It sent them again.",
        severity=Severity.TICKET,
        series={"overdue": _own(environment, "sweep", metric.OVERDUE)},
        threshold=0,
        period=5 * MINUTE,
    )


def _queues(environment: Environment) -> Iterator[Alarm]:
    def of(queue: str, name: str) -> Series:
        return Series(
            namespace="AWS/SQS",
            name=name,
            statistic="Maximum",
            dimensions=(("QueueName", environment.named(queue)),),
        )

    visible = "ApproximateNumberOfMessagesVisible"
    # A queue that nobody reads has no metrics, and a sum with it has no value.
    receiving = ("tasks", "payments", *(("slow",) if environment.settings.slow_lane else ()))
    yield Alarm(
        name="backlog",
        meaning="Up to a million items are due and wait for a worker.",
        severity=Severity.PAGE,
        series={queue: of(queue, visible) for queue in receiving},
        expression=" + ".join(receiving),
        threshold=_BACKLOG_MESSAGES,
        datapoints=3,
        periods=3,
    )
    for queue, seconds in (("payments", 5 * MINUTE), ("tasks", 15 * MINUTE), ("ticks", 5 * MINUTE)):
        yield Alarm(
            name=f"messages_wait_{queue}",
            entry="messages_wait",
            meaning=f"A message of the queue {queue} is older than {seconds // MINUTE} minutes.",
            severity=Severity.PAGE if queue == "payments" else Severity.TICKET,
            series={"age": of(queue, "ApproximateAgeOfOldestMessage")},
            threshold=seconds,
            datapoints=3,
            periods=5,
        )
    for queue in QUEUES:
        letters = {"letters": of(f"{queue}-dlq", visible)}
        yield Alarm(
            name=f"dead_letters_{queue}",
            meaning=f"The queue {queue} has dead letters.",
            severity=Severity.TICKET,
            series=letters,
            threshold=0,
            period=5 * MINUTE,
        )
        hours = 1 if queue == "payments" else 4
        yield Alarm(
            name=f"dead_letters_{queue}_stay",
            entry=f"dead_letters_{queue}",
            meaning=f"Dead letters of the queue {queue} have stayed for {hours} h.",
            severity=Severity.PAGE,
            series=letters,
            threshold=0,
            period=5 * MINUTE,
            datapoints=hours * 12,
            periods=hours * 12,
            missing=Missing.IGNORE,
        )


def _requests(environment: Environment) -> Iterator[Alarm]:
    yield from _burns(
        "api_unavailable",
        "Share of requests that the gateway answered with 5xx.",
        series={
            "failed": Series(
                namespace="AWS/ApiGateway", name="5xx", statistic="Sum", dimensions=(("ApiId", API_ID),)
            ),
            "count": Series(
                namespace="AWS/ApiGateway",
                name="Count",
                statistic="SampleCount",
                dimensions=(("ApiId", API_ID),),
            ),
        },
        expression="IF(count >= 20, failed / count, 0)",
        budget=UNAVAILABLE_BUDGET,
    )
    for name, timed, milliseconds in (
        ("register_slow", metric.REGISTER_TIME, 100),
        ("cancel_slow", metric.CANCEL_TIME, 100),
        ("status_slow", metric.STATUS_TIME, 50),
    ):
        yield Alarm(
            name=name,
            entry="requests_slow",
            meaning=f"One request of 20 takes more than {milliseconds} ms. {timed.meaning}",
            severity=Severity.TICKET,
            series={"time": _own(environment, "api", timed, "p95")},
            threshold=milliseconds,
            datapoints=5,
            periods=5,
        )
    yield Alarm(
        name="keys_not_read",
        meaning="API keys could not be read: requests are answered with 503.",
        severity=Severity.PAGE,
        series={"unread": _own(environment, "authorize", metric.KEYS_NOT_READ)},
        threshold=5,
        datapoints=3,
        periods=3,
    )


def _capacity(environment: Environment) -> Iterator[Alarm]:
    for function in environment.functions:
        of_function = (("FunctionName", environment.named(function)),)
        yield Alarm(
            name=f"errors_{function}",
            entry="errors",
            meaning=f"More than one invocation of 100 of {function} ends with an error.",
            severity=Severity.TICKET,
            series={
                "errors": Series(
                    namespace="AWS/Lambda", name="Errors", statistic="Sum", dimensions=of_function
                ),
                "invocations": Series(
                    namespace="AWS/Lambda", name="Invocations", statistic="Sum", dimensions=of_function
                ),
            },
            expression="IF(errors >= 3, 100 * errors / invocations, 0)",
            threshold=1,
            period=5 * MINUTE,
            datapoints=2,
            periods=3,
        )
        yield Alarm(
            name=f"throttles_{function}",
            entry="concurrency",
            meaning=f"Lambda refuses invocations of {function}: its concurrency is used up.",
            severity=Severity.TICKET,
            series={
                "throttles": Series(
                    namespace="AWS/Lambda", name="Throttles", statistic="Sum", dimensions=of_function
                )
            },
            threshold=0,
            datapoints=5,
            periods=5,
        )
    yield Alarm(
        name="concurrency",
        meaning="The account's functions use more than 80 % of its quota of concurrent executions.",
        severity=Severity.TICKET,
        series={"running": Series(namespace="AWS/Lambda", name="ConcurrentExecutions", statistic="Maximum")},
        threshold=0.8 * environment.concurrency_quota,
        datapoints=3,
        periods=5,
    )


def _burns(
    name: str, meaning: str, *, series: dict[str, Series], expression: str, budget: float
) -> Iterator[Alarm]:
    for speed, factor, windows in _BURNS:
        for which, window in zip(("long", "short"), windows, strict=True):
            yield Alarm(
                name=f"{name}_{speed}_{which}",
                entry=name,
                meaning=f"{meaning} Above {factor} x {100 * budget:g} % over {window // MINUTE} minutes.",
                severity=Severity.PART,
                series=series,
                expression=expression,
                threshold=factor * budget,
                period=window,
            )
    yield Alarm(
        name=f"{name}_slow",
        entry=name,
        meaning=f"{meaning} Above {100 * budget:g} % over a day: the error budget does not last.",
        severity=Severity.TICKET,
        series=series,
        expression=expression,
        threshold=budget,
        period=DAY,
    )
