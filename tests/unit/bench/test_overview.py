"""Lines of the case overview, and the names that it sets to nothing."""

from datetime import timedelta

import functions.api.overview.look as look
from bench.looking import AGES, KEPT
from bench.overview import line, not_asked


def test_the_p95_is_compared_with_that_of_the_floor() -> None:
    found = line("looks", [float(number) for number in range(1, 101)], [10.0, 19.0])
    assert (found["p95_ms"], found["floor"], found["ratio"]) == (95, 19, 5)


def test_each_look_that_did_not_ask_for_the_ages_counts() -> None:
    assert not_asked({AGES: 20, "DescribeAlarms": 20}, 20) == 0
    assert not_asked({AGES: 1}, 20) == 19
    assert not_asked({}, 20) == 20


def test_everything_that_a_look_remembers_is_set_to_nothing() -> None:
    kept = {name for name, value in vars(look).items() if name.endswith("_KEPT")}
    assert set(KEPT) == kept
    assert all(isinstance(getattr(look, name), timedelta) for name in kept)
