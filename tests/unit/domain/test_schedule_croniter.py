"""croniter expands the fields, and each names what it was written to mean. Where no clock changes, croniter's own steps
are ours."""

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from postdate.domain import cron_fields
from postdate.domain.cron import Cron
from postdate.domain.cron_fields import FIELDS

START = datetime(2020, 1, 1, tzinfo=UTC)


def field(least: int, most: int) -> st.SearchStrategy[str]:
    numbers = st.integers(least, most)
    ends = st.sets(numbers, min_size=2, max_size=2)  # croniter reads 0-0 as a whole week
    ranges = ends.map(lambda pair: f"{min(pair)}-{max(pair)}")
    return st.one_of(
        st.just("*"), numbers.map(str), ranges, st.lists(numbers, min_size=2, max_size=4).map(_joined)
    )


def _joined(numbers: list[int]) -> str:
    return ",".join(map(str, sorted(set(numbers))))


@settings(max_examples=300, deadline=None)
@given(
    minute=field(0, 59),
    hour=field(0, 23),
    day=field(1, 28),
    month=field(1, 12),
    weekday=field(0, 6),
    after=st.integers(0, 10 * 365 * 86_400),
)
def test_the_next_ten_runs_are_those_of_croniter(
    minute: str, hour: str, day: str, month: str, weekday: str, after: int
) -> None:
    text, start = f"{minute} {hour} {day} {month} {weekday}", START + timedelta(seconds=after)
    theirs = croniter(text, start)
    ours = [occurrence.at for occurrence in islice(Cron.parse(text).walk(start), 10)]
    assert ours == [theirs.get_next(datetime) for _ in range(10)]


def terms(low: int, high: int) -> Iterator[tuple[str, set[int]]]:
    """Each value, range and step of a field, and the values it names."""
    yield "*", set(range(low, high + 1))
    for step in range(1, high - low + 1):
        yield f"*/{step}", set(range(low, high + 1, step))
    for first in range(low, high + 1):
        yield str(first), {first}
        for last in range(first, high + 1):
            yield f"{first}-{last}", set(range(first, last + 1))
            for step in {min(1, last - first), (last - first) // 2, last - first} - {0}:
                yield f"{first}-{last}/{step}", set(range(first, last + 1, step))


@pytest.mark.parametrize("place", range(5), ids=[field.name for field in FIELDS])
def test_a_term_names_the_values_it_was_written_to_mean(place: int) -> None:
    """Also a range from a value to the same one: croniter reads 5-5 as every value, so it never sees one."""
    for term, meant in terms(FIELDS[place].low, FIELDS[place].high):
        written = ["0", "0", "1", "1", "0"]
        written[place] = term
        found = cron_fields.values(written)[place]
        weekly = place == 4
        assert {value % 7 if weekly else value for value in found} == {
            value % 7 if weekly else value for value in meant
        }, term


def test_every_term_of_a_list_counts() -> None:
    assert cron_fields.values(("5-5,7", "*/8,3", "1-9/4,31", "DEC,jan-FEB", "MON-sun")) == (
        (5, 7),
        (0, 3, 8, 16),
        (1, 5, 9, 31),
        (1, 2, 12),
        tuple(range(7)),
    )


def test_croniter_is_imported_where_a_cron_is_met_and_not_before() -> None:
    program = (
        "import sys; from postdate.domain.cron import Cron; before = 'croniter' in sys.modules; "
        "Cron.parse('0 9 * * *'); print(before, 'croniter' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": "shared"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "False True\n"
