"""What a batch's due calls pass before they are claimed: the breaker of their destination, the rate and the room of
their key.

Who may not begin yet is postponed: it gets another instant in its row, uses up no attempt and is called again for it.
A place on a timeline is taken once and kept in the row, or by this worker if it is so near that waiting for it is
cheaper; who finds a room full or a destination left alone asks again.
A task without flow control, to a destination whose breaker is closed, costs nothing here but a look at what is known.

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
from postdate.domain import flow as rules
from postdate.domain import transitions
from postdate.domain.breaker import State as Circuit
from postdate.domain.due import WAIT_MAX
from postdate.domain.errors import Unavailable
from postdate.domain.flow import Room
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow
from postdate.targets.base import Delivery, Receipt

_TRIES: Final = 6
_LOOK_AGAIN: Final = timedelta(milliseconds=250)
_MOMENT: Final = timedelta(microseconds=1)
_Key = tuple[str, str]
_Claim = tuple[int, Transition]


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Its place is near: it is to come here again then, as it is."""

    until: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """Its destination is slow: it goes by the lane for such."""


Admitted = Transition | Held | Elsewhere | None


class Gate:
    """Made anew for each batch; the circuits outlive it."""

    def __init__(
        self,
        *,
        flow: Flow,
        circuits: Circuits,
        clock: Clock,
        lease: timedelta,
        moves_slow: bool,
    ) -> None:
        self._flow = flow
        self._circuits = circuits
        self._clock = clock
        self._lease = lease
        self._moves_slow = moves_slow
        self._heard: deque[tuple[Delivery, Receipt]] = deque()
        self._stays: dict[_Key, timedelta] = {}
        self._inside: dict[str, datetime] = {}
        self._held: dict[tuple[str, int], datetime] = {}
        self._starts: dict[tuple[str, int], datetime] = {}
        self._waits_since: dict[tuple[str, int], datetime] = {}

    def foresee(self, tasks: Iterable[Task]) -> None:
        """Looks at the breakers while there is still time until the instant."""
        self._circuits.foresee(circuit(task.tenant, task.destination) for task in tasks)

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
        """For each of these changes: itself, or what becomes of the task instead; None when nobody can say now."""
        self.listen()
        changes: list[Admitted] = list(claims)
        starting = [place for place, claim in enumerate(claims) if claim.after.state is State.RUNNING]
        now = self._clock.now()
        for step in (self._past_breakers, self._on_time, self._with_room, self._as_probes):
            for place, change in step([(place, claims[place]) for place in starting], now):
                changes[place] = change
            starting = [place for place in starting if changes[place] is claims[place]]
        return changes

    def extend(self, running: Iterable[Task]) -> None:
        until = self._clock.now() + self._lease
        for key, tasks in _by_key(task for task in running if task.name_in_room in self._inside):
            with suppress(Unavailable):
                self._flow.stay(*key, [task.name_in_room for task in tasks], until)

    def left(self, outcomes: Iterable[Transition]) -> None:
        """Who cannot be told to be out is out when its lease is over. A run that its receiver has accepted stays in
        for as long as the receiver has it."""
        now, inside = (
            self._clock.now(),
            [each for each in outcomes if each.before.name_in_room in self._inside],
        )
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

    def _past_breakers(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        ways = [circuit(claim.after.tenant, claim.after.destination) for _, claim in claims]
        known = self._circuits.breakers(ways)
        for way in dict.fromkeys(ways):
            some = [claim for claim, where in zip(claims, ways, strict=True) if where == way]
            match known[way].state(now):
                case Circuit.OPEN:
                    yield from self._put_off(way, some, now, "the circuit breaker of its destination is open")
                case Circuit.PROBING:
                    yield from self._until_tried(way, some, now)
                case Circuit.RECOVERING:
                    yield from self._in_turn(way, some, now)
                case Circuit.CLOSED if self._moves_slow and known[way].is_slow(now):
                    yield from ((place, Elsewhere()) for place, _ in some)

    def _put_off(
        self, way: _Key, claims: list[_Claim], now: datetime, why: str
    ) -> Iterator[tuple[int, Admitted]]:
        turns = self._circuits.turns(way, len(claims)) if claims else []
        for (place, claim), until in zip(claims, turns, strict=True):
            yield place, self._postponed(claim, now, until, why)

    def _until_tried(self, way: _Key, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        """A probe is mostly over in a moment, for which its call waits here: that costs nothing."""
        late = []
        for place, claim in claims:
            since = self._waits_since.setdefault((claim.before.id, claim.before.version), now)
            if now < since + WAIT_MAX and claim.before.recurs is None:
                yield place, Held(until=now + _LOOK_AGAIN)
            else:
                late.append((place, claim))
        yield from self._put_off(way, late, now, "its destination is being tried")

    def _in_turn(self, way: _Key, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        known = [self._starts.get((claim.before.id, claim.before.version)) for _, claim in claims]
        new = iter(self._circuits.starts(way, known.count(None)) if None in known else ())
        for (place, claim), held in zip(claims, known, strict=True):
            at = next(new) if held is None else held
            if now < at <= now + WAIT_MAX and claim.before.recurs is None:
                self._starts[claim.before.id, claim.before.version] = at
                yield place, Held(until=at)
            elif now < at:
                yield place, self._postponed(claim, now, at, "its destination recovers")

    def _on_time(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        wanting: dict[_Key, list[tuple[int, Transition, timedelta]]] = {}
        for place, claim in claims:
            task = claim.before
            if task.flow is None or task.flow.rate is None:
                continue
            held = self._held.get((task.id, task.version))
            if held is not None and now < held:
                yield place, Held(until=held)
                continue
            if self._has_place(task, now):
                continue
            wanting.setdefault((task.tenant, task.flow.key), []).append((place, claim, task.flow.interval))
        for key, some in wanting.items():
            try:
                taken = self._taken(key, [(claim.before, width) for _, claim, width in some], now)
            except Unavailable:
                yield from ((place, None) for place, _, _ in some)
                continue
            for (place, claim, _), at in zip(some, taken, strict=True):
                if at is None:
                    until = claim.before.ends_at
                    yield place, self._postponed(claim, now, until, "its key has no place sooner")
                elif now < at <= now + WAIT_MAX and claim.before.recurs is None:
                    self._held[claim.before.id, claim.before.version] = at
                    yield place, Held(until=at)
                elif now < at:
                    yield place, self._postponed(claim, now, at, "its key has a place then", placed=True)

    def _taken(
        self, key: _Key, wanting: Sequence[tuple[Task, timedelta]], now: datetime
    ) -> list[datetime | None]:
        """The places of these tasks, None for a task whose end would come first. All are taken at once, or one by one
        if one of them would be of no use: a place that lies too far ahead would keep the key from later tasks."""
        widths = [width for _, width in wanting]
        before = accumulate(widths, initial=timedelta(0))
        latest = min(task.ends_at - ahead for (task, _), ahead in zip(wanting, before, strict=False))
        begin = self._flow.take_by(*key, sum(widths, timedelta(0)), now=now, latest=latest - _MOMENT)
        if begin is not None:
            return list(rules.places(begin, widths))
        found: list[datetime | None] = []
        for task, width in wanting if len(wanting) > 1 else ():
            begin = self._flow.take_by(*key, width, now=now, latest=task.ends_at - _MOMENT)
            found += rules.places(begin, [width]) if begin else [None]
        return found or [None]

    def _has_place(self, task: Task, now: datetime) -> bool:
        held = self._held.get((task.id, task.version))
        if held is not None:
            return now <= held + rules.PLACE_KEPT
        return task.state.waits and rules.holds(task.placed_at, task.due_at, now)

    def _with_room(self, claims: list[_Claim], now: datetime) -> Iterator[tuple[int, Admitted]]:
        wanting: dict[_Key, list[tuple[int, Transition]]] = {}
        for place, claim in claims:
            task = claim.after
            if task.flow is not None and task.flow.parallelism is not None:
                wanting.setdefault((task.tenant, task.flow.key), []).append((place, claim))
        for key, some in wanting.items():
            turns = self._entered(key, [claim.after for _, claim in some], now)
            for place, claim in some:
                if turns is None:
                    yield place, None
                elif until := turns.get(claim.after.name_in_room):
                    yield place, self._postponed(claim, now, until, "as many of its key are on as may be")

    def _entered(self, key: _Key, tasks: list[Task], now: datetime) -> dict[str, datetime] | None:
        names = [task.name_in_room for task in tasks]
        parallelism = min(task.flow.parallelism for task in tasks if task.flow and task.flow.parallelism)
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
        for place, claim in claims:
            task = claim.after
            way = circuit(task.tenant, task.destination)
            if self._circuits.breaker(way).state(now) in (Circuit.CLOSED, Circuit.RECOVERING):
                continue
            if not self._circuits.probe(way, task.timeout_seconds):
                kept_back.setdefault(way, []).append((place, claim))
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
