"""Stored items: their rows, the comparison of units, and the times of phases."""

import itertools
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bench.stopwatch import MS, Stopwatch
from bench.stored import PHASES, READ_UNITS_APART_MAX, differ, lines
from bench.stored_rows import FIRST, SPAN, TENANT, rows
from postdate.domain import instants
from postdate.domain.slots import ShardPlan, home

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
UNITS = {phase: {"write_units": 540.0, "read_units": 20.0} for phase in PHASES}
TIMES = {phase: [100.0, 120.0, 110.0] for phase in PHASES}


def seeded(first: int, last: int) -> list[tuple[str, dict[str, Any]]]:
    shards = ShardPlan.parse("0=4")
    return list(rows(first, last, shards=shards, listing_shards=2, retention=timedelta(days=7), now=NOW))


def test_half_of_the_items_are_payments_and_half_are_tasks() -> None:
    assert Counter(table for table, _ in seeded(0, 100)) == {"PAYMENTS_TABLE": 50, "ITEMS_TABLE": 50}


def test_all_are_pending_and_of_the_tenant() -> None:
    found = [row for _, row in seeded(0, 40)]
    assert {row["status"]["S"] for row in found} == {"PENDING"}
    assert {row["tenant"]["S"] for row in found} == {TENANT}


def test_none_is_due_before_the_day_after_tomorrow_and_days_have_about_as_many() -> None:
    minutes = [home(row["id"]["S"]).minute for _, row in seeded(0, 2000)]
    first, last = (instants.minute_of(NOW + each) for each in (FIRST, FIRST + SPAN))
    assert all(first <= minute <= last for minute in minutes)
    days = Counter((minute - first) // 1440 for minute in minutes)
    assert min(days[day] for day in range(SPAN.days)) >= 0.8 * 2000 / SPAN.days


def test_each_item_is_its_own() -> None:
    ids = [row["id"]["S"] for _, row in itertools.chain(seeded(0, 50), seeded(50, 100))]
    assert len(set(ids)) == 100


@pytest.mark.parametrize(
    ("written", "read", "is_other"),
    [(540, 20, False), (541, 20, True), (540, 20 + READ_UNITS_APART_MAX, False), (540, 25, True)],
)
def test_write_units_are_equal_and_read_units_nearly(written: float, read: float, is_other: bool) -> None:
    assert differ({"write_units": written, "read_units": read}, UNITS["settle"]) is is_other


def test_a_line_has_the_median_of_its_phase_and_that_of_the_first_number() -> None:
    slower = TIMES | {"settle": [150.0, 165.0, 170.0]}
    found = {line["what"]: line for line in lines(100_000, UNITS, slower, (UNITS, TIMES))}
    assert found["100000 items: settle 100"]["ratio"] == 1.5
    assert found["100000 items: register 100"]["ratio"] == 1
    assert not any(line["unsound"] for line in found.values())


def test_other_units_are_unsound() -> None:
    others = UNITS | {"open": {"write_units": 1.0, "read_units": 900.0}}
    found = {line["what"]: line["unsound"] for line in lines(10, others, TIMES, (UNITS, TIMES))}
    assert found == {"10 items: register 100": 0, "10 items: sweep 100": 1, "10 items: settle 100": 0}


def test_a_stopwatch_adds_up_the_times_of_a_phase() -> None:
    watch = Stopwatch()
    for _ in range(2):
        with watch.phase("settle"):
            time.sleep(0.01)
    watch.note("settle", lambda_requests=1)
    assert watch.taken["settle"].keys() == {MS}
    assert watch.taken["settle"][MS] >= 20
