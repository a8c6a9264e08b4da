"""Where no clock changes, croniter says the same: a second reader of the five fields."""

from datetime import UTC, datetime, timedelta
from itertools import islice

from croniter import croniter
from hypothesis import given, settings
from hypothesis import strategies as st

from postdate.domain.cron import Cron

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
