"""A value remembered for a while, so that a warm function does not read it for each event."""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from postdate.runtime.clock import Clock

ValueT = TypeVar("ValueT")
_ENTRIES_MAX = 1000


class Cached(Generic[ValueT]):
    """Values that were loaded, each kept for a while. A missing value is not kept: a tenant or key made a second ago
    works at once."""

    def __init__(
        self,
        load: Callable[[str], ValueT | None],
        *,
        keep: timedelta,
        clock: Clock,
        load_many: Callable[[Collection[str]], Mapping[str, ValueT]] | None = None,
    ) -> None:
        """`load_many` loads several values in one request."""
        self._load = load
        self._load_many = load_many
        self._keep = keep
        self._clock = clock
        self._kept: OrderedDict[str, tuple[datetime, ValueT]] = OrderedDict()

    def get(self, id: str) -> ValueT | None:
        now = self._clock.now()
        if (kept := self._known(id, now)) is not None:
            return kept
        value = self._load(id)
        self._keep_now(id, value, now)
        return value

    def get_many(self, ids: Iterable[str]) -> dict[str, ValueT]:
        """Returns those that exist. One missing value is loaded alone, several are loaded together."""
        now, asked = self._clock.now(), set(ids)
        found = {id: value for id in asked if (value := self._known(id, now)) is not None}
        missing = sorted(asked - found.keys())
        if self._load_many is None or len(missing) < 2:
            return found | {id: value for id in missing if (value := self.get(id)) is not None}
        loaded = self._load_many(missing)
        for id in missing:
            self._keep_now(id, loaded.get(id), now)
        return found | dict(loaded)

    def _known(self, id: str, now: datetime) -> ValueT | None:
        kept = self._kept.get(id)
        return kept[1] if kept is not None and now < kept[0] + self._keep else None

    def _keep_now(self, id: str, value: ValueT | None, now: datetime) -> None:
        # The new entry goes to the end, so the first entry is always the oldest.
        self._kept.pop(id, None)
        if value is not None:
            self._kept[id] = (now, value)
            if len(self._kept) > _ENTRIES_MAX:
                self._kept.popitem(last=False)
