import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.figures import percentile, ratio, rounded, spread

SAMPLES = st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1, max_size=200)


@pytest.mark.parametrize(
    ("percent", "expected"), [(50, 50), (95, 95), (99, 99), (99.5, 100), (100, 100), (0, 1), (1, 1), (1.1, 2)]
)
def test_a_percentile_of_a_hundred_samples_is_the_sample_of_that_rank(percent: float, expected: int) -> None:
    assert percentile(range(1, 101), percent) == expected


@given(SAMPLES, st.floats(min_value=0, max_value=100))
def test_at_least_that_percentage_of_the_samples_is_not_above_it(
    samples: list[float], percent: float
) -> None:
    ordered = sorted(samples)
    found = percentile(ordered, percent)
    assert found in ordered
    assert 100 * sum(sample <= found for sample in ordered) >= percent * len(ordered) * (1 - 1e-12)


def test_the_only_sample_is_every_percentile() -> None:
    assert spread([7.0], 50, 99) == {"p50_ms": 7, "p99_ms": 7, "max_ms": 7}


def test_no_samples_have_no_percentile() -> None:
    with pytest.raises(ValueError, match="no samples"):
        percentile([], 50)


def test_no_samples_are_told_by_no_figure_at_all() -> None:
    assert spread([], 50) == {}


def test_samples_need_no_order() -> None:
    assert spread([3, 1, 2], 50, prefix="claimed_") == {"claimed_p50_ms": 2, "claimed_max_ms": 3}


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (1234.5, 1234), (123.4, 123), (12.34, 12.3), (0.012345, 0.0123), (-1.2345, -1.23)],
)
def test_figures_keep_three_digits_and_whole_numbers_stay_whole(value: float, expected: float) -> None:
    assert rounded(value) == expected


def test_there_is_no_ratio_to_nothing() -> None:
    assert ratio(5, 0) is None
    assert ratio(1, 4) == 0.25
