"""A few points in time, numbered. The last one stands for ever after: what is due after it is due at it."""

from bisect import bisect_left
from datetime import datetime, timedelta

# The first second of a minute, years after the epoch.
BEGIN = datetime.fromisoformat("2030-01-01T12:00:00+00:00")


class Instants:
    def __init__(self, seconds: tuple[int, ...]) -> None:
        self.at = tuple(BEGIN + timedelta(seconds=each) for each in seconds)
        self.last = len(seconds) - 1

    def number(self, instant: datetime) -> int:
        """Number of the first point that is not before the instant."""
        return min(bisect_left(self.at, instant), self.last)

    def after(self, now: int, wait: timedelta) -> int:
        return self.number(self.at[now] + wait)
