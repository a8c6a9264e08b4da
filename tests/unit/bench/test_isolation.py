from bench.isolation import BACK_WITHIN_SECONDS, COUNT, MOVED_MS_MAX, TO_OPEN, late_beside, outage
from bench.outcome import Arrival, Outcome

RETURNED = 1_000_000.0
PROBES = 6


def lateness(*slow: float) -> Outcome:
    quick = [5.0] * (COUNT - len(slow))
    return Outcome(lateness_ms=(*quick, *slow), missing=0, twice=0, early=0)


def test_the_p99_may_move_by_less_than_its_bound() -> None:
    alone = lateness(20.0, 500.0)
    assert late_beside(alone, lateness(20.0 + MOVED_MS_MAX - 1, 9_000.0)) == 0
    assert late_beside(alone, lateness(20.0 + MOVED_MS_MAX, 9_000.0)) == 1


def test_a_call_before_the_return_is_unsound_unless_it_opens_the_breaker_or_is_a_probe() -> None:
    ids = [f"task_{number}" for number in range(TO_OPEN)]
    down = [Arrival(id, RETURNED - 1) for id in ids]
    probes = [Arrival(ids[0], RETURNED - 1) for _ in range(PROBES)]
    back = [Arrival(id, RETURNED + 1) for id in ids]
    line = outage(ids, [*down, *probes, *back], RETURNED)
    assert (line["calls_while_down"], line["unsound"]) == (TO_OPEN + PROBES, 0)
    assert (line["missing"], line["late"]) == (0, 0)
    assert outage(ids, [*down, *probes, probes[0], *back], RETURNED)["unsound"] == 1


def test_a_task_that_comes_too_late_or_not_at_all_after_the_return_is_counted() -> None:
    late = RETURNED + 1000 * BACK_WITHIN_SECONDS
    line = outage(["a", "b", "c"], [Arrival("a", late - 1), Arrival("b", late)], RETURNED)
    assert (line["late"], line["missing"], line["count"]) == (1, 1, 3)
