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


@dataclass(slots=True)
class _Inside:
    # The instant at which the run entered its room.
    since: datetime
    # The end of the run's lease in the room, as of the last write that was answered.
    until: datetime


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
    # The runs of this worker that are in a room.
    _inside: dict[str, _Inside] = field(default_factory=dict, init=False)

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
                    why = "its flow key has as many active runs as it may have"
                    yield index, transitions.postpone(claim, now=now, until=until, why=why)

    def extend(self, running: Iterable[Task]) -> None:
        """Extends the stay of runs in progress. A run that stays for longer already, because its receiver accepted it,
        is left as it is."""
        until = self.clock.now() + self.lease
        short = (
            task
            for task in running
            if (inside := self._inside.get(task.name_in_room)) and inside.until < until
        )
        for key, tasks in _by_key(short):
            with suppress(Unavailable):
                self.flow.stay(*key, [task.name_in_room for task in tasks], until)
                for task in tasks:
                    self._inside[task.name_in_room].until = until

    def hold(self, accepted: Iterable[Transition]) -> set[str]:
        """Keeps runs that their receivers accepted in their rooms for the receivers' leases. Returns the names of the
        runs that are not kept, because their rooms could not be changed: their outcomes must wait. A worker that dies
        after this leaves a run in its room for at most the receiver's lease."""
        unheld, now = set[str](), self.clock.now()
        # Their leases differ, so each has its own write.
        for key, tasks in _by_key(each.after for each in accepted if each.after.name_in_room in self._inside):
            longer = [
                task for task in tasks if (task.lease_until or now) > self._inside[task.name_in_room].until
            ]
            for index, task in enumerate(longer):
                until = task.lease_until or now
                try:
                    self.flow.stay(*key, [task.name_in_room], until)
                    self._inside[task.name_in_room].until = until
                except Unavailable:
                    # The others of the key wait as well: each try may last as long as a time limit.
                    unheld |= {each.name_in_room for each in longer[index:]}
                    break
        return unheld

    def left(self, outcomes: Iterable[Transition]) -> None:
        """Takes runs that ended out of their rooms. If that fails, the end of the lease takes them out. A run that its
        receiver has accepted stays in the room until the receiver's lease ends (see `hold`)."""
        if not self._inside:
            return
        now = self.clock.now()
        inside = [each for each in outcomes if each.before.name_in_room in self._inside]
        for key, tasks in _by_key(each.after for each in inside if each.after.state is State.RUNNING):
            for task in tasks:
                until = task.lease_until or now
                # The receiver's lease may be shorter than what was left of this worker's.
                if until < self._inside.pop(task.name_in_room).until:
                    with suppress(Unavailable):
                        self.flow.stay(*key, [task.name_in_room], until)
        for key, tasks in _by_key(each.after for each in inside if each.after.state is not State.RUNNING):
            names = [task.name_in_room for task in tasks]
            # The time that runs stay tells when a full room has a place again.
            took = sum((now - self._inside.pop(name).since for name in names), timedelta(0)) / len(names)
            stay = self._stays[key] = rules.stayed(self._stays[key], took)
            with suppress(Unavailable):
                self.flow.leave(*key, names, stay=stay)

    def _enter(self, key: Key, tasks: list[Task], now: datetime) -> dict[str, datetime] | None:
        """Lets claims of one key enter its room. Returns, by the name of each claim that found the room full, the
        instant to ask again. None if the room could not be changed: no claim of the key begins now."""
        names = [task.name_in_room for task in tasks]
        flows = [self.limits_of(task) for task in tasks]
        # Tasks of one key may name different limits: the strictest counts for all of them.
        parallelism = min(flow.parallelism for flow in flows if flow is not None and flow.parallelism)
        until = now + self.lease
        try:
            for _ in range(_TRIES):
                room: Room = self.flow.room(*key)
                entered = rules.enter(room, names, parallelism=parallelism, until=until, now=now)
                if self.flow.change_room(*key, room, entered.room):
                    self._stays[key] = room.stay
                    self._inside |= {
                        name: _Inside(since=now, until=until) for name in set(names) - entered.turns.keys()
                    }
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
