"""The gate before a claim: a pause of the flow key, the breaker of the destination, the rate and the room of the key.

A run that may not begin yet is postponed: its row gets a later instant, it uses up no attempt and is called again then.
A place on a timeline is taken once. The row keeps it, or this worker does if the place is so near that waiting is
cheaper. A run that finds a paused key, a full room or an open breaker asks again.
A task without flow control, to a destination whose breaker is closed, costs only a look at the worker's own copy.

Places, rooms and breakers are taken before the claim is written. A worker that dies in between leaves a place that
nobody uses, a run in a room until its lease is over, and a probe that another replaces after its time.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final

from functions.run_tasks.circuits import Circuits, circuit
from functions.run_tasks.flow_keys import FlowKeys
from functions.run_tasks.stops import Stops
from postdate.domain import flow as rules
from postdate.domain import transitions
from postdate.domain.breaker import State as BreakerState
from postdate.domain.due import WAIT_MAX
from postdate.domain.errors import Unavailable
from postdate.domain.flow import FlowControl, Room
from postdate.domain.flow_key import FlowKey
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow
from postdate.targets.base import Delivery, Receipt

_TRIES: Final = 6
_LOOK_AGAIN: Final = timedelta(milliseconds=250)
_MOMENT: Final = timedelta(microseconds=1)
_PAUSED: Final = "its key is paused"
_OPEN: Final = "the circuit breaker of its destination is open"
_TRIED: Final = "its destination is being tried"
_LEFT_ALONE: Final = frozenset({_OPEN, _TRIED})
_Key = tuple[str, str]
_Claim = tuple[int, Transition]


@dataclass(frozen=True, kw_only=True, slots=True)
class Waits:
    """The place of the run is near: this worker handles the same call again at that instant."""

    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """The destination is slow: the call goes to the lane for slow destinations."""


Admitted = Transition | Waits | Elsewhere | None


class Gate:
    """Made anew for each batch; the circuits outlive it. `stops` are switches: they come before a decision is made."""

    def __init__(
        self,
        *,
        flow: Flow,
        circuits: Circuits,
        flow_keys: FlowKeys,
        stops: Stops,
        clock: Clock,
        lease: timedelta,
        moves_slow: bool,
    ) -> None:
        self.stops = stops
        self._flow = flow
        self._circuits = circuits
        self._flow_keys = flow_keys
        self._set: dict[_Key, FlowKey] = {}
        self._clock = clock
        self._lease = lease
        self._moves_slow = moves_slow
        self._heard: deque[tuple[Delivery, Receipt]] = deque()
        self._stays: dict[_Key, timedelta] = {}
        self._inside: dict[str, datetime] = {}
        # Destinations of the claims at the gate that a worker may try now.
        self._half_open: set[_Key] = set()
        self._places: dict[tuple[str, int], datetime] = {}
        self._starts: dict[tuple[str, int], datetime] = {}
        self._waits_since: dict[tuple[str, int], datetime] = {}

    def foresee(self, tasks: Iterable[Task]) -> None:
        """Looks at the breakers and keys while there is still time until the instant."""
        found = list(tasks)
        self._circuits.foresee(circuit(task.tenant, task.destination) for task in found)
        if keys := [(task.tenant, task.flow.key) for task in found if task.flow is not None]:
            self._flow_keys.foresee(keys)

    def elsewhere(self, tasks: Iterable[Task]) -> set[str]:
        """The ids of those whose calls go by the lane for slow destinations, as long as there is time for it."""
        ways = {task.id: circuit(task.tenant, task.destination) for task in tasks if task.state.waits}
        slow = self._circuits.slow(ways.values()) if self._moves_slow else frozenset()
        return {id for id, way in ways.items() if way in slow}

    def slowed(self, circuits: Iterable[_Key]) -> None:
        for each in circuits:
            self._circuits.slowed(each)

    def hear(self, delivery: Delivery, receipt: Receipt) -> None:
        """Called by whichever thread ends a delivery."""
        self._heard.append((delivery, receipt))

    def listen(self) -> None:
        """Makes known what was heard."""
        heard = []
        while self._heard:
            heard.append(self._heard.popleft())
        if heard:
            self._circuits.tell(heard)

    def admit(self, claims: Sequence[Transition]) -> list[Admitted]:
        """Answers each of these changes with itself, with another change in its place, or with None when nobody can say
        now."""
        self.listen()
        changes: list[Admitted] = list(claims)
        starting = [index for index, claim in enumerate(claims) if claim.after.state is State.RUNNING]
        now = self._clock.now()
        for step in (
            self._past_pauses,
            self._past_breakers,
            self._on_time,
            self._with_room,
            self._as_probes,
        ):
            for index, change in step([(index, claims[index]) for index in starting], now):
                changes[index] = change
            starting = [index for index in starting if changes[index] is claims[index]]
        return changes

    def extend(self, running: Iterable[Task]) -> None:
        until = self._clock.now() + self._lease
        for key, tasks in _by_key(task for task in running if task.name_in_room in self._inside):
            with suppress(Unavailable):
                self._flow.stay(*key, [task.name_in_room for task in tasks], until)

    def left(self, outcomes: Iterable[Transition]) -> None:
        """Takes runs that ended out of their rooms. If that fails, the end of the lease takes them out. A run that its
        receiver has accepted stays in the room for the receiver's lease."""
        if not self._inside:
            return
        now = self._clock.now()
        inside = [each for each in outcomes if each.before.name_in_room in self._inside]
        for key, tasks in _by_key(each.after for each in inside if each.after.state is State.RUNNING):
            for task in tasks:
                del self._inside[task.name_in_room]
                with suppress(Unavailable):
                    self._flow.stay(*key, [task.name_in_room], task.lease_until or now)
        for key, tasks in _by_key(each.after for each in inside if each.after.state is not State.RUNNING):
            names = [task.name_in_room for task in tasks]
            took = sum((now - self._inside.pop(name) for name in names), timedelta(0)) / len(names)
            stay = self._stays[key] = rules.stayed(self._stays[key], took)
            with suppress(Unavailable):
                self._flow.leave(*key, names, stay=stay)

    def _past_pauses(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        """Yields the answers for claims of paused keys, and for those of keys that cannot be read: none of them may
        begin."""
        wanting: dict[_Key, list[_Claim]] = {}
        for index, claim in claims:
            if claim.after.flow is not None:
                wanting.setdefault((claim.after.tenant, claim.after.flow.key), []).append((index, claim))
        if not wanting:
            return
        try:
            self._set = dict(self._flow_keys.known(wanting))
        except Unavailable:
            yield from ((index, None) for some in wanting.values() for index, _ in some)
            return
        for key, some in wanting.items():
            if self._set[key].paused_at is not None:
                yield from self._until_resumed(key, some, now)

    def _until_resumed(
        self, key: _Key, claims: list[_Claim], now: datetime
    ) -> Iterator[tuple[int, Admitted]]:
        new = sum(claim.before.history[-1].why != _PAUSED for _, claim in claims)
        if new:
            self._flow_keys.count_waiting(key, new)
        turns = self._flow_keys.turns(key, self._set[key], len(claims))
        for (index, claim), until in zip(claims, turns, strict=True):
            yield index, self._postponed(claim, now, until, _PAUSED)

    def _flow_of(self, task: Task) -> FlowControl | None:
        """The flow control of the task: its own values, overridden by the tenant's setting of the key."""
        return None if task.flow is None else self._set[task.tenant, task.flow.key].over(task.flow)

    def _past_breakers(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        ways = [circuit(claim.after.tenant, claim.after.destination) for _, claim in claims]
        known = self._circuits.breakers(ways)
        self._half_open = set()
        for way in dict.fromkeys(ways):
            some = [claim for claim, where in zip(claims, ways, strict=True) if where == way]
            match known[way].state(now):
                case BreakerState.OPEN:
                    yield from self._put_off(way, some, now, _OPEN)
                case BreakerState.PROBING:
                    yield from self._until_tried(way, some, now)
                case BreakerState.RECOVERING:
                    yield from self._in_turn(way, some, now)
                case BreakerState.HALF_OPEN:
                    self._half_open.add(way)
                case BreakerState.CLOSED if self._moves_slow and known[way].is_slow(now):
                    yield from ((index, Elsewhere()) for index, _ in some)

    def _put_off(
        self, way: _Key, claims: list[_Claim], now: datetime, why: str
    ) -> Iterator[tuple[int, Admitted]]:
        """Postpones calls of an open breaker to their turns, and counts those that were not put off before."""
        new = sum(claim.before.history[-1].why not in _LEFT_ALONE for _, claim in claims)
        if new:
            self._circuits.count_behind_breaker(way, new)
        turns = self._circuits.turns(way, len(claims)) if claims else []
        for (index, claim), until in zip(claims, turns, strict=True):
            yield index, self._postponed(claim, now, until, why)

    def _until_tried(self, way: _Key, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        """A probe is mostly over in a moment, for which its call waits here: that costs nothing."""
        late = []
        for index, claim in claims:
            since = self._waits_since.setdefault((claim.before.id, claim.before.version), now)
            if now < since + WAIT_MAX and claim.before.recurs is None:
                yield index, Waits(until=now + _LOOK_AGAIN)
            else:
                late.append((index, claim))
        yield from self._put_off(way, late, now, _TRIED)

    def _in_turn(self, way: _Key, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        known = [self._starts.get((claim.before.id, claim.before.version)) for _, claim in claims]
        new = iter(self._circuits.starts(way, known.count(None)) if None in known else ())
        for (index, claim), start in zip(claims, known, strict=True):
            at = next(new) if start is None else start
            if now < at <= now + WAIT_MAX and claim.before.recurs is None:
                self._starts[claim.before.id, claim.before.version] = at
                yield index, Waits(until=at)
            elif now < at:
                yield index, self._postponed(claim, now, at, "its destination recovers")

    def _on_time(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        wanting: dict[_Key, list[tuple[int, Transition, timedelta]]] = {}
        for index, claim in claims:
            task, flow = claim.before, self._flow_of(claim.before)
            if flow is None or flow.rate is None:
                continue
            place = self._places.get((task.id, task.version))
            if place is not None and now < place:
                yield index, Waits(until=place)
                continue
            if self._has_place(task, now):
                continue
            wanting.setdefault((task.tenant, flow.key), []).append((index, claim, flow.interval))
        for key, some in wanting.items():
            try:
                taken = self._take_places(key, [(claim.before, width) for _, claim, width in some], now)
            except Unavailable:
                yield from ((index, None) for index, _, _ in some)
                continue
            for (index, claim, _), at in zip(some, taken, strict=True):
                if at is None:
                    until = claim.before.ends_at
                    yield index, self._postponed(claim, now, until, "its key has no place sooner")
                elif now < at <= now + WAIT_MAX and claim.before.recurs is None:
                    self._places[claim.before.id, claim.before.version] = at
                    yield index, Waits(until=at)
                elif now < at:
                    yield index, self._postponed(claim, now, at, "its key has a place then", placed=True)

    def _take_places(
        self, key: _Key, wanting: Sequence[tuple[Task, timedelta]], now: datetime
    ) -> list[datetime | None]:
        """The places of these tasks, None for a task whose end would come first. All are taken at once, or one by one
        if one of them would be of no use: a place that lies too far ahead would keep the key from later tasks."""
        widths = [width for _, width in wanting]
        before = accumulate(widths, initial=timedelta(0))
        latest = min(task.ends_at - ahead for (task, _), ahead in zip(wanting, before, strict=False))
        begin = self._flow.take_by(
            *key, sum(widths, timedelta(0)), now=now, latest=latest - _MOMENT, count=len(widths)
        )
        if begin is not None:
            return list(rules.places(begin, widths))
        found: list[datetime | None] = []
        for task, width in wanting if len(wanting) > 1 else ():
            begin = self._flow.take_by(*key, width, now=now, latest=task.ends_at - _MOMENT)
            found += rules.places(begin, [width]) if begin else [None]
        return found or [None]

    def _has_place(self, task: Task, now: datetime) -> bool:
        place = self._places.get((task.id, task.version))
        if place is not None:
            return now <= place + rules.PLACE_KEPT
        return task.state.waits and rules.holds(task.placed_at, task.due_at, now)

    def _with_room(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        wanting: dict[_Key, list[tuple[int, Transition]]] = {}
        for index, claim in claims:
            task, flow = claim.after, self._flow_of(claim.after)
            if flow is not None and flow.parallelism is not None:
                wanting.setdefault((task.tenant, flow.key), []).append((index, claim))
        for key, some in wanting.items():
            turns = self._enter_room(key, [claim.after for _, claim in some], now)
            for index, claim in some:
                if turns is None:
                    yield index, None
                elif until := turns.get(claim.after.name_in_room):
                    yield index, self._postponed(claim, now, until, "as many of its key are on as may be")

    def _enter_room(self, key: _Key, tasks: list[Task], now: datetime) -> dict[str, datetime] | None:
        """Lets claims of one key enter its room. Returns, by the name of each claim that found the room full, the
        instant to ask again. None if the room could not be changed: no claim of the key begins now."""
        names = [task.name_in_room for task in tasks]
        flows = [self._flow_of(task) for task in tasks]
        parallelism = min(flow.parallelism for flow in flows if flow is not None and flow.parallelism)
        try:
            for _ in range(_TRIES):
                room: Room = self._flow.room(*key)
                entered = rules.enter(room, names, parallelism=parallelism, until=now + self._lease, now=now)
                if self._flow.change_room(*key, room, entered.room):
                    self._stays[key] = room.stay
                    self._inside |= dict.fromkeys(set(names) - entered.turns.keys(), now)
                    return dict(entered.turns)
        except Unavailable:
            pass
        return None

    def _as_probes(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        kept_back: dict[_Key, list[_Claim]] = {}
        for index, claim in claims:
            task = claim.after
            way = circuit(task.tenant, task.destination)
            if way in self._half_open and not self._circuits.probe(way, task.timeout_seconds):
                kept_back.setdefault(way, []).append((index, claim))
        tasks = [claim.after for some in kept_back.values() for _, claim in some]
        for key, inside in _by_key(task for task in tasks if self._inside.pop(task.name_in_room, None)):
            with suppress(Unavailable):
                self._flow.leave(*key, [task.name_in_room for task in inside], stay=None)
        for way, some in kept_back.items():
            yield from self._until_tried(way, some, now)

    def _postponed(
        self, claim: Transition, now: datetime, until: datetime, why: str, *, placed: bool = False
    ) -> Transition:
        return transitions.postpone(claim, now=now, until=until, why=why, placed=placed)


def _by_key(tasks: Iterable[Task]) -> Iterator[tuple[_Key, list[Task]]]:
    found: dict[_Key, list[Task]] = {}
    for task in tasks:
        if task.flow is not None:
            found.setdefault((task.tenant, task.flow.key), []).append(task)
    yield from found.items()
