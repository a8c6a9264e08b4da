"""A value remembered for a while, so that a warm function does not read it for each event."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from postdate.runtime.clock import Clock

ValueT = TypeVar("ValueT")
_ENTRIES_MAX = 1000


class Cached(Generic[ValueT]):
    """Values that were loaded, each kept for a while. A missing value is not kept: a tenant or key made a second ago
    works at once."""

    def __init__(self, load: Callable[[str], ValueT | None], *, keep: timedelta, clock: Clock) -> None:
        self._load = load
        self._keep = keep
        self._clock = clock
        self._kept: OrderedDict[str, tuple[datetime, ValueT]] = OrderedDict()

    def get(self, id: str) -> ValueT | None:
        now = self._clock.now()
        kept = self._kept.get(id)
        if kept is not None and now < kept[0] + self._keep:
            return kept[1]
        value = self._load(id)
        # The new entry goes to the end, so the first entry is always the oldest.
        self._kept.pop(id, None)
        if value is not None:
            self._kept[id] = (now, value)
            if len(self._kept) > _ENTRIES_MAX:
                self._kept.popitem(last=False)
        return value
