"""Seats for requests that wait for an event.

A waiting request holds a copy of `api`, and all tenants share the copies. So the number of requests that may wait long
is bounded, for all together and for one tenant. A request without a seat waits for two seconds at most.
Seats are leases: a copy that dies gives its seat back when the wait would have ended.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from postdate.domain.errors import PostdateError
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow

# The owner and the name of the room. No tenant has this name, so no list of flow keys shows it.
OWNER: Final = "@service"
ROOM: Final = "waiting"
_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingSeats:
    """The seats of all tenants, kept as one room of the table of flow."""

    flow: Flow
    clock: Clock
    # The number of seats. One tenant has at most half of them.
    total: int

    @contextmanager
    def taken(self, tenant: str, id: str, wait: timedelta) -> Iterator[bool]:
        """Takes a seat until the end of the block. Yields False if no seat is free, or if that cannot be told now."""
        is_seated = self._take(f"{tenant}/{id}", wait)
        try:
            yield is_seated
        finally:
            if is_seated:
                # A seat that cannot be given back becomes free by itself.
                with suppress(PostdateError):
                    self.flow.leave(OWNER, ROOM, [f"{tenant}/{id}"], stay=None)

    def _take(self, name: str, wait: timedelta) -> bool:
        try:
            return any(self._tried(name, wait) for _ in range(_TRIES))
        except (_Full, PostdateError):
            return False

    def _tried(self, name: str, wait: timedelta) -> bool:
        """False if another request was faster. Raises _Full."""
        room, now = self.flow.room(OWNER, ROOM), self.clock.now()
        seated = {each: end for each, end in room.runs.items() if now < end}
        owner = name.partition("/")[0]
        of_tenant = sum(each.partition("/")[0] == owner for each in seated)
        if len(seated) >= self.total or of_tenant >= max(1, self.total // 2):
            raise _Full
        after = replace(room, runs=seated | {name: now + wait}, version=room.version + 1)
        return self.flow.change_room(OWNER, ROOM, room, after)


class _Full(Exception):
    pass
