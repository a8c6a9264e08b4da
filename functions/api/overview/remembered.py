"""A value that each look reads, and that need not be read by each."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from postdate.runtime.clock import Clock

ValueT = TypeVar("ValueT")


class Remembered(Generic[ValueT]):
    """Reads the value when it is older than `keep`. A read that raises is not remembered."""

    def __init__(self, read: Callable[[], ValueT], *, keep: timedelta, clock: Clock) -> None:
        self._read = read
        self._keep = keep
        self._clock = clock
        self._known: tuple[datetime, ValueT] | None = None

    def __call__(self) -> ValueT:
        now = self._clock.now()
        if self._known is None or not self._known[0] <= now < self._known[0] + self._keep:
            self._known = (now, self._read())
        return self._known[1]
