"""The parallelism of flow keys at the gate: each run enters the room of its key, or gets a turn to ask again.

A run leaves its room when it ends. A worker that dies before leaves the run in the room until its lease is over.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from functions.run_tasks.gate.answers import Answers, Claim
from postdate.domain import flow as rules
from postdate.domain import transitions
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl, Room
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow, Key

_TRIES: Final = 6


@dataclass(kw_only=True, slots=True)
class Rooms:
    flow: Flow
    # The limits in force for a task; None without flow control.
    limits_of: Callable[[Task], FlowControl | None]
    clock: Clock
    # The time for which a run stays in a room without an extension.
    lease: timedelta
    # The usual stay in each room.
    _stays: dict[Key, timedelta] = field(default_factory=dict, init=False)
    # The runs of this worker that are in a room, with the instants at which they entered.
    _inside: dict[str, datetime] = field(default_factory=dict, init=False)

    def with_room(self, claims: list[Claim], now: datetime) -> Answers:
        """Yields the answers for claims that find the room of their key full."""
        wanting: dict[Key, list[tuple[int, Transition]]] = {}
        for index, claim in claims:
            task, flow = claim.after, self.limits_of(claim.after)
            if flow is not None and flow.parallelism is not None:
                wanting.setdefault((task.tenant, flow.key), []).append((index, claim))
        for key, some in wanting.items():
            turns = self._enter(key, [claim.after for _, claim in some], now)
            for index, claim in some:
                if turns is None:
                    yield index, None
                elif until := turns.get(claim.after.name_in_room):
                    why = "as many of its key are on as may be"
                    yield index, transitions.postpone(claim, now=now, until=until, why=why)

    def extend(self, running: Iterable[Task]) -> None:
        until = self.clock.now() + self.lease
        for key, tasks in _by_key(task for task in running if task.name_in_room in self._inside):
            with suppress(Unavailable):
                self.flow.stay(*key, [task.name_in_room for task in tasks], until)

    def left(self, outcomes: Iterable[Transition]) -> None:
        """Takes runs that ended out of their rooms. If that fails, the end of the lease takes them out. A run that its
        receiver has accepted stays in the room for the receiver's lease."""
        if not self._inside:
            return
        now = self.clock.now()
        inside = [each for each in outcomes if each.before.name_in_room in self._inside]
        # Accepted runs: their leases differ, so each has its own write.
        for key, tasks in _by_key(each.after for each in inside if each.after.state is State.RUNNING):
            for task in tasks:
                del self._inside[task.name_in_room]
                with suppress(Unavailable):
                    self.flow.stay(*key, [task.name_in_room], task.lease_until or now)
        for key, tasks in _by_key(each.after for each in inside if each.after.state is not State.RUNNING):
            names = [task.name_in_room for task in tasks]
            # The time that runs stay tells when a full room has a place again.
            took = sum((now - self._inside.pop(name) for name in names), timedelta(0)) / len(names)
            stay = self._stays[key] = rules.stayed(self._stays[key], took)
            with suppress(Unavailable):
                self.flow.leave(*key, names, stay=stay)

    def withdraw(self, claims: Iterable[Task]) -> None:
        """Takes claims out of their rooms that do not begin after all."""
        for key, inside in _by_key(task for task in claims if self._inside.pop(task.name_in_room, None)):
            with suppress(Unavailable):
                self.flow.leave(*key, [task.name_in_room for task in inside], stay=None)

    def _enter(self, key: Key, tasks: list[Task], now: datetime) -> dict[str, datetime] | None:
        """Lets claims of one key enter its room. Returns, by the name of each claim that found the room full, the
        instant to ask again. None if the room could not be changed: no claim of the key begins now."""
        names = [task.name_in_room for task in tasks]
        flows = [self.limits_of(task) for task in tasks]
        # Tasks of one key may name different limits: the strictest counts for all of them.
        parallelism = min(flow.parallelism for flow in flows if flow is not None and flow.parallelism)
        try:
            for _ in range(_TRIES):
                room: Room = self.flow.room(*key)
                entered = rules.enter(room, names, parallelism=parallelism, until=now + self.lease, now=now)
                if self.flow.change_room(*key, room, entered.room):
                    self._stays[key] = room.stay
                    self._inside |= dict.fromkeys(set(names) - entered.turns.keys(), now)
                    return dict(entered.turns)
        except Unavailable:
            pass
        return None


def _by_key(tasks: Iterable[Task]) -> Iterator[tuple[Key, list[Task]]]:
    found: dict[Key, list[Task]] = {}
    for task in tasks:
        if task.flow is not None:
            found.setdefault((task.tenant, task.flow.key), []).append(task)
    yield from found.items()
