"""The distribution of delays: how far ahead items are registered."""

from collections import Counter
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from postdate.runtime.metric import DELAYS, Metric

_BELOW: Final = (
    (timedelta(minutes=1), "minute"),
    (timedelta(hours=1), "hour"),
    (timedelta(days=1), "day"),
    (timedelta(weeks=1), "week"),
)


def counted(delays: Iterable[timedelta]) -> dict[Metric, float]:
    return {DELAYS[name]: count for name, count in Counter(map(_named, delays)).items()}


def _named(delay: timedelta) -> str:
    return next((name for limit, name in _BELOW if delay < limit), "more")
