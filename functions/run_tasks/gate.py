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
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
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
_Key = tuple[str, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """Its place is near: it is to come here again then, as it is."""

    until: datetime


Admitted = Transition | Held | None


class Gate:
    """Made anew for each batch; the circuits outlive it."""

    def __init__(
        self,
        *,
        flow: Flow,
        circuits: Circuits,
        clock: Clock,
        lease: timedelta,
        draw: Callable[[], float],
    ) -> None:
        self._flow = flow
        self._circuits = circuits
        self._clock = clock
        self._lease = lease
        self._draw = draw
        self._heard: deque[tuple[Delivery, Receipt]] = deque()
        self._stays: dict[_Key, timedelta] = {}
        self._inside: dict[str, datetime] = {}
        self._held: dict[tuple[str, int], datetime] = {}

    def foresee(self, tasks: Iterable[Task]) -> None:
        """Looks at the breakers while there is still time until the instant."""
        self._circuits.foresee(circuit(task.tenant, task.destination) for task in tasks)

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

    def _past_breakers(
        self, claims: list[tuple[int, Transition]], now: datetime
    ) -> Iterator[tuple[int, Admitted]]:
        ways = [circuit(claim.after.tenant, claim.after.destination) for _, claim in claims]
        known = self._circuits.breakers(ways)
        for (place, claim), way in zip(claims, ways, strict=True):
            breaker = known[way]
            if breaker.state(now) in (Circuit.OPEN, Circuit.PROBING):
                until = breaker.ask_again_at(now, self._draw())
                yield place, self._postponed(claim, now, until, "its destination is left alone")

    def _on_time(self, claims: list[tuple[int, Transition]], now: datetime) -> Iterator[tuple[int, Admitted]]:
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
            widths = [width for _, _, width in some]
            try:
                begin = self._flow.take(*key, sum(widths, timedelta(0)), now=now)
            except Unavailable:
                yield from ((place, None) for place, _, _ in some)
                continue
            for (place, claim, _), at in zip(some, rules.places(begin, widths), strict=True):
                if now < at <= now + WAIT_MAX and claim.before.recurs is None:
                    self._held[claim.before.id, claim.before.version] = at
                    yield place, Held(until=at)
                elif now < at:
                    yield place, self._postponed(claim, now, at, "its key has a place then", placed=True)

    def _has_place(self, task: Task, now: datetime) -> bool:
        held = self._held.get((task.id, task.version))
        if held is not None:
            return now <= held + rules.PLACE_KEPT
        return task.state.waits and rules.holds(task.placed_at, task.due_at, now)

    def _with_room(
        self, claims: list[tuple[int, Transition]], now: datetime
    ) -> Iterator[tuple[int, Admitted]]:
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

    def _as_probes(
        self, claims: list[tuple[int, Transition]], now: datetime
    ) -> Iterator[tuple[int, Admitted]]:
        kept_back: list[Task] = []
        for place, claim in claims:
            task = claim.after
            where = circuit(task.tenant, task.destination)
            if self._circuits.breaker(where).state(now) is Circuit.CLOSED:
                continue
            if not self._circuits.probe(where, task.timeout_seconds):
                until = self._circuits.breaker(where).ask_again_at(now, self._draw())
                kept_back.append(task)
                yield place, self._postponed(claim, now, until, "its destination is being tried")
        for key, tasks in _by_key(task for task in kept_back if self._inside.pop(task.name_in_room, None)):
            with suppress(Unavailable):
                self._flow.leave(*key, [task.name_in_room for task in tasks], stay=None)

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
