"""Alarms about functions that reach their limits, or are behind their stream."""

from collections.abc import Iterator
from typing import Final

from infra.environment import Environment
from infra.watch.alarm import Alarm, Series, Severity
from infra.watch.series import MINUTE, of_function

# A state machine alone invokes them, a few at a time, and retries an invocation that Lambda refuses.
_RETRIED_BY_ITS_MACHINE: Final = frozenset({"reconcile", "archive", "erase"})
# The reconciliation of the next night tells that it did not come to its end.
_RECONCILED: Final = frozenset({"archive"})
_EVENTS_BEHIND_MILLISECONDS: Final = 600_000


def capacity_alarms(environment: Environment) -> Iterator[Alarm]:
    for function in environment.functions:
        if function in _RECONCILED:
            continue
        yield Alarm(
            name=f"errors_{function}",
            entry="errors",
            meaning=f"More than one invocation of 100 of {function} ends with an error.",
            severity=Severity.TICKET,
            series={
                "errors": of_function(environment, function, "Errors"),
                "invocations": of_function(environment, function, "Invocations"),
            },
            # With few invocations a single error would exceed the threshold.
            expression="IF(errors >= 3, 100 * errors / invocations, 0)",
            threshold=1,
            period=5 * MINUTE,
            datapoints=2,
            periods=3,
        )
        if function in _RETRIED_BY_ITS_MACHINE:
            continue
        yield Alarm(
            name=f"throttles_{function}",
            entry="concurrency",
            meaning=f"Lambda refuses invocations of {function}: its concurrency is used up.",
            severity=Severity.TICKET,
            series={"throttles": of_function(environment, function, "Throttles")},
            threshold=0,
            datapoints=5,
            periods=5,
        )
    yield Alarm(
        name="concurrency",
        meaning="The account's functions use more than 80 % of its quota of concurrent executions.",
        severity=Severity.TICKET,
        # Without a dimension Lambda counts the executions of the whole account.
        series={"running": Series(namespace="AWS/Lambda", name="ConcurrentExecutions", statistic="Maximum")},
        threshold=0.8 * environment.concurrency_quota,
        datapoints=3,
        periods=5,
    )
    yield Alarm(
        name="events_behind",
        meaning="Changes wait for more than 10 minutes to be recorded as events.",
        severity=Severity.TICKET,
        series={
            "age": Series(
                namespace="AWS/Lambda",
                name="IteratorAge",
                statistic="Maximum",
                dimensions=(("FunctionName", environment.named("record")),),
            )
        },
        threshold=_EVENTS_BEHIND_MILLISECONDS,
        datapoints=3,
        periods=5,
    )
