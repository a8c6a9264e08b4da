"""Alarms about tasks and their destinations."""

from collections.abc import Iterator

from infra.environment import Environment
from infra.watch.alarm import Alarm, Severity
from infra.watch.series import MINUTE, own
from postdate.runtime import metric


def task_alarms(environment: Environment) -> Iterator[Alarm]:
    yield Alarm(
        name="tasks_die",
        meaning="More than 5 % of the tasks that end fail for the last time.",
        severity=Severity.TICKET,
        series={
            "dead": own(environment, "run_tasks", metric.TASKS_DEAD),
            "succeeded": own(environment, "run_tasks", metric.TASKS_SUCCEEDED),
        },
        # With fewer than 20 tasks a single one would exceed the threshold.
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
        series={"lateness": own(environment, "run_tasks", metric.TASK_LATENESS, "p99")},
        threshold=30_000,
        datapoints=5,
        periods=5,
    )
    yield Alarm(
        name="tasks_untried",
        meaning="Attempts are not sent for a reason of Postdate's own: a key, a table or a payload cannot be read.",
        severity=Severity.PAGE,
        series={"untried": own(environment, "run_tasks", metric.ATTEMPTS_FAILED[metric.UNTRIED])},
        # A task that cannot be sent is tried about seven times a minute, until it can.
        threshold=60,
        datapoints=5,
        periods=5,
    )
    yield Alarm(
        name="destination_down",
        meaning="A destination failed so often that it is no longer called.",
        severity=Severity.TICKET,
        series={"opened": own(environment, "run_tasks", metric.BREAKERS_OPENED)},
        threshold=0,
        period=5 * MINUTE,
    )
    yield Alarm(
        name="workers_die",
        entry="leases_expire",
        meaning="Workers of run_tasks died in the middle of at least three attempts within 5 minutes.",
        severity=Severity.TICKET,
        series={"expired": own(environment, "run_tasks", metric.LEASES_EXPIRED)},
        threshold=2,
        period=5 * MINUTE,
    )
    for function in ("run_tasks", "settle"):
        yield Alarm(
            name=f"leases_expire_{function}",
            entry="leases_expire",
            meaning=f"More than one message of 20 comes to {function} again: workers die, or leases are too short.",
            severity=Severity.TICKET,
            series={
                "again": own(environment, function, metric.REDELIVERIES),
                "packets": own(environment, function, metric.PACKETS),
            },
            # SQS delivers a message twice now and then, although nothing is wrong.
            expression="IF(again >= 3, 100 * again / packets, 0)",
            threshold=5,
            period=5 * MINUTE,
            datapoints=2,
            periods=3,
        )
