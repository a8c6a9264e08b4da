"""The settings of flow keys in one worker: read once a second at most, for a whole batch at once, and kept between
batches.

While a setting cannot be read, no run of its key begins: the key may be paused.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.errors import Unavailable
from postdate.domain.flow_key import TURN, FlowKey
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow, Key, Timeline

_FRESH: Final = timedelta(seconds=1)
_REMEMBERED_MAX: Final = 10_000


class FlowKeys:
    def __init__(self, *, flow: Flow, clock: Clock) -> None:
        self._flow = flow
        self._clock = clock
        self._known: dict[Key, tuple[datetime, FlowKey]] = {}

    def foresee(self, keys: Iterable[Key]) -> None:
        """Reads ahead of the instant what will be asked for then."""
        with suppress(Unavailable):
            self.known(keys)

    def known(self, keys: Iterable[Key]) -> Mapping[Key, FlowKey]:
        """The settings of these keys, at most a second old. Raises Unavailable if one cannot be read."""
        now, wanted = self._clock.now(), set(keys)
        if len(self._known) > _REMEMBERED_MAX:
            self._known.clear()
        stale = [key for key in wanted if key not in self._known or now >= self._known[key][0] + _FRESH]
        if stale:
            self._known |= {key: (now, found) for key, found in self._flow.keys(stale).items()}
        return {key: self._known[key][1] for key in wanted}

    def turns(self, key: Key, paused: FlowKey, count: int) -> list[datetime]:
        """Returns the instants at which `count` runs of a paused key ask again, one by one. Each pause has turns of its
        own: the first runs of a short pause do not wait behind the turns of a long pause before it."""
        tenant, name = key
        begin = paused.asks_again_from(self._clock.now())
        of_pause = f"{instants.milliseconds(paused.paused_at or begin)}#{name}"
        with suppress(Unavailable):
            begin = self._flow.take(tenant, of_pause, count * TURN, now=begin, of=Timeline.PAUSE)
        return [instants.whole(begin + number * TURN) for number in range(count)]

    def add_waiting(self, key: Key, more: int) -> None:
        """A count that is lost makes the number that a person is shown too small, and nothing else."""
        with suppress(Unavailable):
            self._flow.add_waiting(key, more)
