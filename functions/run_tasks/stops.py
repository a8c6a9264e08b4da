"""Tasks that an operator's switch stops: those of a tenant, or to one kind of destination.

A stopped task stays as it is, and its call is sent again with a pause, as if no worker had had it. A task whose end
comes meanwhile is EXPIRED when its switch is on again. Switches that cannot be read stay as they were read last.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from postdate.domain.switch import of_target, of_tenant
from postdate.domain.task import Task
from postdate.runtime.agenda import Call
from postdate.runtime.clock import Clock
from postdate.stores.switchboard import Switchboard

# The switches are read so long before the instant: then nothing is read at the instant.
LOOK_AHEAD: Final = timedelta(milliseconds=150)


class Stops:
    """Made anew for each batch; the switchboard outlives it."""

    def __init__(self, switchboard: Switchboard, clock: Clock) -> None:
        self._board = switchboard
        self._clock = clock
        self._looked_for: datetime | None = None

    def next_look_at(self, call: Call, task: Task | None) -> datetime | None:
        """Returns the instant at which the worker reads the switches again, so that no read is needed when `call` is
        due. None if that look was tried already, or if the readings will still be fresh then. The worker asks for the
        first call of its agenda."""
        if self._looked_for == call.at or not self._board.is_stale(_names(call, task), call.at):
            return None
        return call.at - LOOK_AHEAD

    def look_for(self, at: datetime, calls: Iterable[tuple[Call, Task | None]]) -> None:
        self._looked_for = at
        self._board.look(name for call, task in calls for name in _names(call, task))

    def until(self, calls: Sequence[tuple[Call, Task | None]]) -> list[datetime | None]:
        """Returns for each call the instant at which it is sent again because a switch stops it; None for a call that
        may go on."""
        named = [_names(call, task) for call, task in calls]
        self._board.look(chain.from_iterable(named))
        now, off = self._clock.now(), map(self._board.off, named)
        return [now + max(each.pause(now) for each in found) if found else None for found in off]


def _names(call: Call, task: Task | None) -> list[str]:
    names = [of_tenant(call.message.packet.tenant)]
    return names if task is None else [*names, of_target(task.destination.type)]
