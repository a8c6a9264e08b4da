"""States that go on from look to look, over lines as functions log them."""

import json
from typing import Final

from infra.environments import LOCAL
from infra.watch.evaluate import State
from infra.watch.live import KEPT_SECONDS, Live

BEGAN: Final = 1_800_000_000 // 60 * 60


def line(function: str, at: float, **values: float) -> str:
    metrics = [{"Name": name, "Unit": "Count"} for name in values]
    directive = {"Namespace": "Postdate", "Dimensions": [["service"]], "Metrics": metrics}
    told = {"Timestamp": int(at * 1000), "CloudWatchMetrics": [directive]}
    return json.dumps({"_aws": told, "service": LOCAL.named(function), **values})


def woken(live: Live, *, since: int, until: int) -> None:
    for minute in range(since, until):
        live.add(line("sweep", BEGAN + 60 * minute, WakeUps=6, Ticks=1, SweepBehindMinutes=1))


def test_an_alarm_fires_and_ends_as_time_goes_on() -> None:
    live = Live(LOCAL)
    woken(live, since=0, until=10)
    live.add(line("settle", BEGAN + 540, BooksDisagree=1))
    live.look(BEGAN + 550)
    assert live.states["balance_inconsistency"] is State.ALARM
    assert live.since["balance_inconsistency"] == BEGAN + 550
    woken(live, since=10, until=14)
    live.look(BEGAN + 839)
    assert live.states["balance_inconsistency"] is State.OK


def test_a_sweep_that_is_not_woken_fires_its_page() -> None:
    live = Live(LOCAL)
    woken(live, since=0, until=10)
    live.look(BEGAN + 600)
    assert live.states["timer_down"] is State.OK
    live.look(BEGAN + 600 + 6 * 60)
    assert live.states["timer_down"] is State.ALARM


def test_a_young_stack_whose_sweep_has_not_run_is_not_told_to_be_down() -> None:
    live = Live(LOCAL)
    live.add(line("api", BEGAN + 5, Requests=1))
    live.add(line("settle", BEGAN + 6, BooksDisagree=1))
    live.look(BEGAN + 10)
    assert live.states["timer_down"] is live.states["tick_missing"] is State.OK
    assert live.states["balance_inconsistency"] is State.ALARM


def test_an_alarm_on_missing_data_that_looks_back_for_a_day_is_quiet() -> None:
    live = Live(LOCAL)
    woken(live, since=0, until=30)
    live.look(BEGAN + 1800)
    assert live.states["reconciliation_missing"] is State.OK


def test_nothing_is_said_of_a_stack_without_a_sample() -> None:
    live = Live(LOCAL)
    live.look(BEGAN)
    assert set(live.states.values()) == {State.OK}


def test_letters_in_a_queue_fire_their_alarm() -> None:
    live = Live(LOCAL)
    for minute in range(12):
        live.add_depth("payments-dlq", 1, at=BEGAN + 60 * minute)
        live.look(BEGAN + 60 * minute + 1)
    assert live.states["dead_letters_payments"] is State.ALARM


def test_samples_are_forgotten() -> None:
    live = Live(LOCAL)
    woken(live, since=0, until=10)
    live.look(BEGAN + 600 + KEPT_SECONDS)
    assert not any(live.samples.of.values())
