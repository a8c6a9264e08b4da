import time
from datetime import UTC, datetime, timedelta

from bench.draining import Look, apart_ms, lateness_ms, watched

DUE = 1000.0


def test_a_payment_is_as_late_as_the_first_look_that_counts_it() -> None:
    looks = [
        Look(at_ms=990, through=0),
        Look(at_ms=1020, through=2),
        Look(at_ms=1050, through=2),
        Look(at_ms=1070, through=3),
    ]
    assert lateness_ms(looks, DUE) == [20, 20, 70]


def test_a_call_that_is_through_before_its_instant_is_early() -> None:
    assert lateness_ms([Look(at_ms=995, through=1)], DUE) == [-5]


def test_a_call_that_never_comes_through_has_no_lateness() -> None:
    assert lateness_ms([Look(at_ms=1500, through=0)], DUE) == []


def test_it_is_watched_from_before_the_instant_until_all_are_through() -> None:
    counts = iter([0, 1, 3, 99])
    due_at = datetime.now(UTC) + timedelta(milliseconds=400)
    began_ms = time.time() * 1000
    looks = watched(lambda: next(counts), 3, due_at, every_seconds=0.001, patience_seconds=5)
    assert [look.through for look in looks] == [0, 1, 3]
    assert began_ms <= looks[0].at_ms <= due_at.timestamp() * 1000


def test_patience_ends_when_they_do_not_come() -> None:
    due_at = datetime.now(UTC) - timedelta(seconds=1)
    looks = watched(lambda: 1, 2, due_at, every_seconds=0.001, patience_seconds=0.5)
    assert [look.through for look in looks] == [1]


def test_how_far_apart_looks_were_is_said_by_the_middle_one() -> None:
    looks = [Look(at_ms=at, through=0) for at in (0, 10, 12, 40)]
    assert apart_ms(looks) == 10
    assert apart_ms(looks[:1]) == 0
