"""A minute's tally counts each item once, by its state when the minute is closed."""

from dataclasses import replace
from datetime import timedelta

import pytest

from postdate.domain import instants
from postdate.domain.slots import item_id
from postdate.domain.tally import Fared, MinuteTally, bucket_of, tallied
from postdate.domain.task import KIND, OPERATION_KIND
from tests.unit.doubles import PLAN, START, unique

MINUTE = instants.minute_of(START)
MILLISECOND = timedelta(milliseconds=1)


def an_id(kind: str = KIND, number: int = 1) -> str:
    return item_id(kind, PLAN.slot(START, unique(number)), unique(number))


def one(state: str, *, kind: str = KIND, **fields: object) -> MinuteTally | None:
    fared = replace(Fared(state=state, planned_at=START), **fields)  # type: ignore[arg-type]
    return next(iter(tallied(MINUTE, [("acme", an_id(kind), fared)]).get("acme", {}).values()), None)


@pytest.mark.parametrize(
    ("state", "attempts", "counts"),
    [
        ("PENDING", 0, (1, 0, 0, 0)),
        ("RUNNING", 1, (1, 0, 0, 0)),
        ("RUNNING", 2, (1, 0, 0, 1)),
        ("RETRYING", 1, (1, 0, 0, 1)),
        ("RETRYING", 0, (1, 0, 0, 0)),
        ("SUCCEEDED", 1, (1, 1, 0, 0)),
        ("SUCCEEDED", 2, (1, 1, 0, 1)),
        ("DEAD", 3, (1, 0, 1, 1)),
        ("EXPIRED", 0, (1, 0, 1, 0)),
        ("MISSED", 0, (1, 0, 1, 0)),
        ("COMPLETED", 1, (1, 1, 0, 0)),
        ("EXECUTING", 1, (1, 0, 0, 1)),
        ("FAILED", 1, (1, 0, 1, 0)),
        ("A STATE OF NEWER CODE", 0, (1, 0, 0, 0)),
    ],
)
def test_a_state_counts_as_due_done_failed_or_retried(
    state: str, attempts: int, counts: tuple[int, int, int, int]
) -> None:
    tally = one(state, attempts=attempts)
    assert tally is not None
    assert (tally.due, tally.done, tally.failed, tally.retried) == counts


@pytest.mark.parametrize("state", ["CANCELLED", "SKIPPED"])
def test_an_item_that_was_given_up_before_its_instant_is_not_due(state: str) -> None:
    assert one(state) is None


def test_an_item_planned_for_another_minute_and_a_step_of_an_operation_are_not_counted() -> None:
    assert one("PENDING", planned_at=START + timedelta(minutes=1)) is None
    assert one("PENDING", kind=OPERATION_KIND) is None


def test_tenants_and_kinds_are_apart_and_amounts_add_up() -> None:
    def paid(amount: int) -> Fared:
        return Fared(state="COMPLETED", planned_at=START, amount=amount)

    sums = tallied(
        MINUTE,
        [
            ("acme", an_id("pay", 1), paid(5)),
            ("acme", an_id("pay", 2), paid(7)),
            ("acme", an_id(KIND, 3), Fared(state="PENDING", planned_at=START)),
            ("other", an_id("pay", 4), paid(100)),
        ],
    )
    assert {tenant: set(kinds) for tenant, kinds in sums.items()} == {
        "acme": {"payments", "tasks"},
        "other": {"payments"},
    }
    assert (sums["acme"]["payments"].due, sums["acme"]["payments"].amount) == (2, 12)
    assert sums["other"]["payments"].amount == 100


@pytest.mark.parametrize("late_ms", [0, 1, 2, 17, 250, 4000, 60_000, 86_400_000])
def test_a_percentile_is_a_tenth_too_high_at_most_and_never_too_low(late_ms: int) -> None:
    bucket = bucket_of(START + late_ms * MILLISECOND, START)
    told = MinuteTally(due=1, lateness={bucket: 1}).lateness_ms(0.99)
    assert told is not None
    assert late_ms - 1 <= told <= late_ms * 1.1 + 1


def test_percentiles_of_a_sum_are_those_of_all_its_items() -> None:
    quick = MinuteTally(lateness={bucket_of(START + 10 * MILLISECOND, START): 98})
    slow = MinuteTally(lateness={bucket_of(START + 900 * MILLISECOND, START): 2})
    both = quick + slow
    p50, p99 = both.lateness_ms(0.5), both.lateness_ms(0.99)
    assert p50 is not None
    assert p99 is not None
    assert 10 <= p50 <= 11
    assert 899 <= p99 <= 990
    assert MinuteTally().lateness_ms(0.5) is None
