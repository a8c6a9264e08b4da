"""Alarms about the timer: the tick, the heartbeat, and the passes of the sweep."""

from collections.abc import Iterator

from infra.environment import Environment
from infra.watch.alarm import Alarm, Comparison, Missing, Severity
from infra.watch.series import MINUTE, own
from postdate.runtime import metric


def timer_alarms(environment: Environment) -> Iterator[Alarm]:
    yield Alarm(
        name="wake_ups_missing",
        entry="timer_down",
        meaning="Neither the tick nor the heartbeat wakes the sweep.",
        severity=Severity.PART,
        series={"wake_ups": own(environment, "sweep", metric.WAKE_UPS)},
        threshold=1,
        comparison=Comparison.BELOW,
        datapoints=3,
        periods=3,
        # A sweep that is never invoked writes no metric.
        missing=Missing.BREACHING,
    )
    yield Alarm(
        name="tick_missing",
        meaning="EventBridge Scheduler sends no tick. The sweep runs by its heartbeat alone, and nothing "
        "restarts a lost heartbeat.",
        severity=Severity.TICKET,
        series={"ticks": own(environment, "sweep", metric.TICKS)},
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
        series={"behind": own(environment, "sweep", metric.BEHIND, "Minimum")},
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
        series={"failed": own(environment, "sweep", metric.PASSES_FAILED)},
        threshold=0,
        datapoints=3,
        periods=5,
    )
    yield Alarm(
        name="overdue",
        meaning="The audit found items that no message and no worker had. It sent them again.",
        severity=Severity.TICKET,
        series={"overdue": own(environment, "sweep", metric.OVERDUE)},
        threshold=0,
        period=5 * MINUTE,
    )
    yield Alarm(
        name="operations_stalled",
        meaning="The execution of an operation died. The sweep found the operation and continued it.",
        severity=Severity.TICKET,
        series={"stalled": own(environment, "sweep", metric.OPERATIONS_STALLED)},
        threshold=0,
        period=5 * MINUTE,
    )
    yield Alarm(
        name="items_wait",
        meaning="More than 5 % of the items of a minute have not begun a minute after its end.",
        severity=Severity.TICKET,
        series={
            "waiting": own(environment, "sweep", metric.ITEMS_WAITING),
            "due": own(environment, "sweep", metric.ITEMS_DUE),
        },
        # In a quiet minute a single item would exceed the threshold.
        expression="IF(waiting >= 3, 100 * waiting / due, 0)",
        threshold=5,
        datapoints=3,
        periods=5,
    )
