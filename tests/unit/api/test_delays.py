"""Delays by their size."""

from datetime import timedelta

import pytest

from functions.api.delays import counted
from postdate.runtime.metric import DELAYS

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("delay", "name"),
    [
        (0 * SECOND, "minute"),
        (60 * SECOND - SECOND, "minute"),
        (60 * SECOND, "hour"),
        (3600 * SECOND, "day"),
        (86_400 * SECOND, "week"),
        (7 * 86_400 * SECOND, "more"),
    ],
)
def test_a_delay_is_counted_by_its_size(delay, name):
    assert counted([delay]) == {DELAYS[name]: 1}


def test_delays_of_one_size_are_counted_together():
    assert counted([SECOND, 2 * SECOND, 3600 * SECOND]) == {DELAYS["minute"]: 2, DELAYS["day"]: 1}
    assert counted([]) == {}
