"""Each alarm at its limit: it stays quiet with the one set of values, and fires with the other.

The limits are those of the requirements, written out, and the second set of values lies just beyond them: a threshold
that is changed by a twentieth fails here.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from infra.environments import PROD
from infra.watch.alarm import Alarm, Missing
from infra.watch.evaluate import State, Watch, evaluated
from infra.watch.samples import Samples
from infra.watch.series import DAY, HOUR, MINUTE
from infra.watch.table import alarms, composites

Values = dict[str, float]
# The values of each minute, by the names of the series: quiet, and then beyond the limit. A fifth is one in 5 minutes.
LIMITS: Final[dict[str, tuple[Values, Values]]] = {
    "payment_failures_over_1_percent": ({"failed": 100, "settled": 9900}, {"failed": 101, "settled": 9899}),
    "payment_failures_over_0_1_percent": (
        {"failed": 100, "settled": 99_900},
        {"failed": 101, "settled": 99_899},
    ),
    "payment_p95_over_1s": ({"lateness": 1000}, {"lateness": 1001}),
    "payment_p95_over_500ms": ({"lateness": 500}, {"lateness": 501}),
    "payments_late_fast_long": ({"late": 144, "settled": 10_000}, {"late": 145, "settled": 10_000}),
    "payments_late_fast_short": ({"late": 144, "settled": 10_000}, {"late": 145, "settled": 10_000}),
    "payments_late_steady_long": ({"late": 60, "settled": 10_000}, {"late": 61, "settled": 10_000}),
    "payments_late_steady_short": ({"late": 60, "settled": 10_000}, {"late": 61, "settled": 10_000}),
    "payments_late_slow": ({"late": 100, "settled": 100_000}, {"late": 101, "settled": 100_000}),
    "balance_inconsistency": ({"disagreeing": 0}, {"disagreeing": 1}),
    "audit_contradicts": ({"failed": 0}, {"failed": 1}),
    "reconciliation_differs": ({"differing": 0}, {"differing": 1}),
    "reconciliation_missing": ({"differing": 1}, {"differing": 1.01}),
    "contention": ({"conflicts": 1000}, {"conflicts": 1001}),
    "tasks_die": ({"dead": 500, "succeeded": 9500}, {"dead": 501, "succeeded": 9499}),
    "tasks_late": ({"lateness": 30_000}, {"lateness": 30_001}),
    "tasks_untried": ({"untried": 60}, {"untried": 61}),
    "destination_down": ({"opened": 0}, {"opened": 0.2}),
    "workers_die": ({"expired": 0.4}, {"expired": 0.404}),
    "leases_expire_run_tasks": ({"again": 500, "packets": 10_000}, {"again": 501, "packets": 10_000}),
    "leases_expire_settle": ({"again": 500, "packets": 10_000}, {"again": 501, "packets": 10_000}),
    "wake_ups_missing": ({"wake_ups": 1}, {"wake_ups": 0.99}),
    "tick_missing": ({"ticks": 1}, {"ticks": 0.99}),
    "sweep_behind": ({"behind": 3}, {"behind": 3.01}),
    "passes_fail": ({"failed": 0}, {"failed": 1}),
    "overdue": ({"overdue": 0}, {"overdue": 0.2}),
    "operations_stalled": ({"stalled": 0}, {"stalled": 0.2}),
    "items_wait": ({"waiting": 500, "due": 10_000}, {"waiting": 501, "due": 10_000}),
    "backlog": (
        {"tasks": 20_000, "payments": 10_000, "slow": 10_000},
        {"tasks": 20_000, "payments": 10_001, "slow": 10_000},
    ),
    "messages_wait_payments": ({"age": 300}, {"age": 301}),
    "messages_wait_tasks": ({"age": 900}, {"age": 901}),
    "messages_wait_ticks": ({"age": 300}, {"age": 301}),
    "messages_wait_slow": ({"age": 3600}, {"age": 3601}),
    **{
        f"dead_letters_{queue}": ({"letters": 0}, {"letters": 1})
        for queue in ("tasks", "payments", "ticks", "events")
    },
    "api_unavailable_fast_long": ({"failed": 144}, {"failed": 145}),
    "api_unavailable_fast_short": ({"failed": 144}, {"failed": 145}),
    "api_unavailable_steady_long": ({"failed": 60}, {"failed": 61}),
    "api_unavailable_steady_short": ({"failed": 60}, {"failed": 61}),
    "api_unavailable_slow": ({"failed": 10}, {"failed": 10.1}),
    "register_slow": ({"time": 100}, {"time": 101}),
    "cancel_slow": ({"time": 100}, {"time": 101}),
    "status_slow": ({"time": 50}, {"time": 51}),
    "keys_not_read": ({"unread": 5}, {"unread": 5.01}),
    **{
        f"errors_{function}": ({"errors": 100, "invocations": 10_000}, {"errors": 101, "invocations": 10_000})
        for function in PROD.functions
        if function != "archive"
    },
    **{
        f"throttles_{function}": ({"throttles": 0}, {"throttles": 1})
        for function in PROD.functions
        if function not in ("reconcile", "archive", "erase")
    },
    "concurrency": ({"running": 800}, {"running": 801}),
    "executions_failed": ({}, {"erase": 0.2}),
    "events_behind": ({"age": 600_000}, {"age": 600_001}),
    # One of the series is enough: the others have no values at all.
    **{f"throttled_{table}": ({}, {"writes": 1}) for table in ("items", "payments", "accounts", "journal")},
    **{f"throttled_{table}": ({}, {"reads": 1}) for table in ("idempotency", "flow")},
}
# So many requests a minute that 1 of 100,000 is a sample.
_REQUESTS: Final = 100_000
ALARMS: Final = alarms(PROD)


def sampled(alarm: Alarm, values: Values, *, start: int, end: int) -> Iterator[tuple[str, int, float]]:
    for name in alarm.series:
        for at in range(start, end, 60):
            if name in values:
                yield name, at, values[name]


def played(alarm: Alarm, values: Values, *, seconds: int) -> Samples:
    samples = Samples()
    for name, at, value in sampled(alarm, values, start=0, end=seconds):
        series = alarm.series[name]
        samples.add(series.namespace, series.name, series.dimensions, at=at + 5, value=value)
    if "count" in alarm.series:
        series = alarm.series["count"]
        for at in range(0, seconds, 60):
            for _ in range(_REQUESTS // 1000):
                samples.add(series.namespace, series.name, series.dimensions, at=at + 5, value=1)
    return samples


def scaled(alarm: Alarm, values: Values) -> Values:
    """Failures of 100 requests a minute instead of 100,000."""
    return {name: value / 1000 for name, value in values.items()} if "count" in alarm.series else values


def test_each_alarm_has_its_limit() -> None:
    assert LIMITS.keys() == {alarm.name for alarm in ALARMS}


def states(alarm: Alarm) -> tuple[State, ...]:
    """The alarm's states at its limit and beyond it."""
    seconds = alarm.period * (alarm.periods + 3)
    return tuple(
        evaluated(alarm, played(alarm, scaled(alarm, values), seconds=seconds), until=seconds)
        for values in LIMITS[alarm.name]
    )


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: alarm.name)
def test_an_alarm_stays_quiet_at_its_limit_and_fires_beyond_it(alarm: Alarm) -> None:
    assert states(alarm) == (State.OK, State.ALARM)


@pytest.mark.parametrize("factor", [0.95, 1.05])
@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: alarm.name)
def test_a_threshold_that_is_changed_by_hand_is_noticed(alarm: Alarm, factor: float) -> None:
    """A threshold of 0 is changed by 1."""
    threshold = alarm.threshold * factor if alarm.threshold else (1 if factor > 1 else -1)
    assert states(replace(alarm, threshold=threshold)) != (State.OK, State.ALARM)


@pytest.mark.parametrize(
    "alarm", [each for each in ALARMS if each.missing is Missing.BREACHING], ids=lambda alarm: alarm.name
)
def test_an_alarm_on_missing_data_fires_in_silence(alarm: Alarm) -> None:
    seconds = alarm.period * (alarm.periods + 3)
    assert evaluated(alarm, Samples(), until=seconds) is State.ALARM


@pytest.mark.parametrize("alarm", ALARMS, ids=lambda alarm: alarm.name)
def test_an_alarm_fires_within_the_time_that_it_names(alarm: Alarm) -> None:
    quiet, loud = LIMITS[alarm.name]
    begins = alarm.period * (alarm.periods + 3)
    ends = begins + alarm.fires_within + 60
    samples = Samples()
    for values, start, end in ((quiet, 0, begins), (loud, begins, ends)):
        for name, at, value in sampled(alarm, scaled(alarm, values), start=start, end=end):
            series = alarm.series[name]
            samples.add(series.namespace, series.name, series.dimensions, at=at + 5, value=value)
    if "count" in alarm.series:
        series = alarm.series["count"]
        for at in range(0, ends, 60):
            for _ in range(_REQUESTS // 1000):
                samples.add(series.namespace, series.name, series.dimensions, at=at + 5, value=1)
    assert evaluated(alarm, samples, until=begins) is State.OK
    assert evaluated(alarm, samples, until=ends) is State.ALARM


def test_a_page_about_late_payments_is_held_back_while_the_timer_is_down() -> None:
    watch = Watch((), composites(PROD))
    watch.states |= dict.fromkeys((alarm.name for alarm in ALARMS), State.OK)
    watch.states["payment_p95_over_1s"] = State.ALARM
    watch.look(Samples(), at=60)
    assert watch.states["payments_slow"] is State.ALARM
    watch.states["wake_ups_missing"] = State.ALARM
    watch.look(Samples(), at=120)
    assert watch.states["timer_down"] is State.ALARM
    assert watch.states["payments_slow"] is State.OK


def test_a_difference_keeps_its_alarm_until_the_next_night() -> None:
    (alarm,) = (each for each in ALARMS if each.name == "reconciliation_differs")
    (series,) = alarm.series.values()
    samples, watch, hours = Samples(), Watch([alarm], []), {}
    for night, found in enumerate((0, 1, 0)):
        samples.add(series.namespace, series.name, series.dimensions, at=night * DAY + 5, value=found)
    for at in range(MINUTE, 3 * DAY, MINUTE):
        watch.look(samples, at=at)
        hours[at // HOUR] = watch.states[alarm.name]
    assert {hour for hour, state in hours.items() if state is State.ALARM} == set(range(24, 48))


@pytest.mark.parametrize(
    ("nights", "fires_in"),
    [((0, 24, 48, 72), None), ((0, 25, 47, 72), None), ((0, 24, 72, 96), range(51, 60))],
    ids=["each night", "nights of unlike length", "a night without one"],
)
def test_a_night_without_a_reconciliation_is_told(nights: tuple[int, ...], fires_in: range | None) -> None:
    (alarm,) = (each for each in ALARMS if each.name == "reconciliation_missing")
    (series,) = alarm.series.values()
    samples, watch = Samples(), Watch([alarm], [])
    watch.states[alarm.name] = State.OK
    for hour in nights:
        samples.add(series.namespace, series.name, series.dimensions, at=hour * HOUR + 5, value=0)
    for at in range(2 * HOUR, (nights[-1] + 1) * HOUR, MINUTE):
        watch.look(samples, at=at)
    first = watch.fired.get(alarm.name)
    assert first is None if fires_in is None else first is not None and first // HOUR in fires_in
    assert watch.states[alarm.name] is State.OK
