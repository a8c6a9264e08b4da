from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from postdate.domain.spread import SPREAD_SECONDS_MAX, spread
from tests.unit.doubles import SECOND, START


@given(st.integers(0, SPREAD_SECONDS_MAX), st.text())
def test_an_instant_moves_later_by_less_than_the_span_and_by_the_same_for_one_name(
    seconds: int, name: str
) -> None:
    moved = spread(START, seconds=seconds, name=name)
    assert START <= moved < START + max(seconds, 0.001) * SECOND
    assert moved == spread(START, seconds=seconds, name=name)
    assert moved.microsecond % 1000 == 0


def test_two_thousand_names_fill_a_minute_evenly() -> None:
    moved = [spread(START, seconds=60, name=f"demo {index}") for index in range(2_000)]
    a_second = Counter((instant - START) // SECOND for instant in moved)
    assert len(a_second) == 60
    # 33 a second in the mean; four times the deviation of chance.
    assert max(a_second.values()) <= 33 + 4 * 33**0.5
    assert min(a_second.values()) >= 33 - 4 * 33**0.5
