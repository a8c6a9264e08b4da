"""The pulse goes on while metrics come, and stops when they stop."""

from dataclasses import replace
from typing import Final

from infra.environments import ENVIRONMENTS, PROD
from infra.watch.alarm import Alarm
from infra.watch.evaluate import State, Watch
from infra.watch.pulse import pulse_alarms
from infra.watch.samples import Samples
from infra.watch.table import alarms

BEGAN: Final = 1_800_000_000 // 3600 * 3600
(PULSE,) = pulse_alarms(replace(PROD, heartbeat_url="https://signals.example/prod"))


def fired(alarm: Alarm, *, hours: float, silent_after: float = 1e9) -> list[int]:
    """The minutes in which the alarm begins to fire, if the sweep is woken twice a minute."""
    samples, watch = Samples(), Watch([alarm], [])
    series, found, before = alarm.series["wake_ups"], list[int](), State.OK
    for minute in range(int(60 * hours)):
        if minute < 60 * silent_after:
            for second in (5, 35):
                at = BEGAN + 60 * minute + second
                samples.add(series.namespace, series.name, series.dimensions, at=at, value=1)
        watch.look(samples, at=BEGAN + 60 * (minute + 1))
        if watch.states[alarm.name] is State.ALARM and before is not State.ALARM:
            found.append(minute)
        before = watch.states[alarm.name]
    return found


def test_the_alarm_fires_anew_each_ten_minutes() -> None:
    assert fired(PULSE, hours=2) == list(range(0, 120, 10))


def test_no_signal_comes_after_the_metrics_have_stopped() -> None:
    assert fired(PULSE, hours=3, silent_after=1) == list(range(0, 60, 10))


def test_without_a_single_metric_there_is_no_signal() -> None:
    assert fired(PULSE, hours=2, silent_after=0) == []


def test_a_threshold_that_never_or_always_holds_makes_no_signals() -> None:
    assert fired(replace(PULSE, threshold=0), hours=2) == []
    assert len(fired(replace(PULSE, threshold=10), hours=2)) == 1


def test_no_environment_has_an_address_by_itself() -> None:
    for environment in ENVIRONMENTS.values():
        assert environment.heartbeat_url is None
        assert "pulse" not in {each.name for each in alarms(environment)}
