"""Payments that an operator's switch stops: which may be settled now, and when the others are called again.

Nothing about a stopped payment is written. Its call is sent again with a pause, as if no worker had had it, so no
attempt is counted and no message becomes a dead letter. A transaction begins only while the reading of the switches
counts: a worker that stood still in between has to read them again.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.switch import SETTLEMENT, Switch, of_tenant
from postdate.runtime import deadline
from postdate.runtime.clock import Clock
from postdate.stores.switchboard import Switchboard

# The switches are read so long before the instant: then the transaction is all that remains.
LOOK_AHEAD: Final = timedelta(milliseconds=150)
# A payment that lacks money while earlier ones are caught up with is tried again after this time.
PATIENCE: Final = timedelta(seconds=2)
_UNKNOWN_PAUSE: Final = timedelta(seconds=5)
_MOVES_MONEY: Final = "TransactWriteItems"


class Stops:
    def __init__(self, switchboard: Switchboard, clock: Clock) -> None:
        self._board = switchboard
        self._clock = clock
        self._looked_for: datetime | None = None

    def look(self, tenants: Iterable[str]) -> None:
        self._board.look(_names(tenants))

    def next_look_at(self, tenants: Iterable[str], at: datetime) -> datetime | None:
        """Returns the instant at which the worker reads the switches again, before these tenants' payments at `at`.
        None if that look was tried already or is not needed."""
        if self._looked_for == at or not self._board.is_stale(_names(tenants), at):
            return None
        return at - LOOK_AHEAD

    def look_for(self, tenants: Iterable[str], at: datetime) -> None:
        self._looked_for = at
        self.look(tenants)

    def until(self, tenant: str, due_at: datetime) -> datetime | None:
        """Returns the instant at which the payment's call is sent again; None if a payment that is due at `due_at` may
        be settled now. The call waits while a switch is off, while other payments go first after a stop, or while the
        switches cannot be read."""
        now = latest = self._clock.now()
        for name in _names([tenant]):
            switch = self._board.known(name)
            if switch is None:
                return now + _UNKNOWN_PAUSE
            released_at = switch.released_at(due_at)
            if released_at is None:
                return now + switch.pause(now)
            if released_at > due_at:
                latest = max(latest, released_at)
        return latest if latest > now else None

    def is_catching_up(self, tenant: str, due_at: datetime) -> bool:
        """True while payments that were stopped, and are due before this one, may not have been settled."""
        now = self._clock.now()
        switches = (self._board.known(name) for name in _names([tenant]))
        ends = (switch.orders_until(due_at) for switch in switches if switch is not None)
        return any(until is not None and now < until for until in ends)

    def is_off(self, tenant: str) -> bool:
        """True also without a reading that counts."""
        found: list[Switch | None] = [self._board.known(name) for name in _names([tenant])]
        return any(switch is None or not switch.on for switch in found)

    @contextmanager
    def bounding(self, tenants: Iterable[str]) -> Iterator[None]:
        """No transaction begins in here once a reading for these tenants counts no more."""
        names = _names(tenants)
        seconds_left = self._board.seconds_left
        with deadline.of_this_process().within(lambda: seconds_left(names), only=_MOVES_MONEY):
            yield


def _names(tenants: Iterable[str]) -> list[str]:
    return [SETTLEMENT, *(of_tenant(tenant) for tenant in dict.fromkeys(tenants))]
