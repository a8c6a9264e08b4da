"""The breakers of destinations at the gate: which calls are put off, which one is the probe, which go elsewhere.

A call behind an open breaker asks again at a turn of its own. A call behind a probe waits here for a moment: the probe
is mostly over by then. The calls behind one probe share that moment, because their worker does nothing else in it.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from functions.run_tasks.circuits import Circuits, circuit
from functions.run_tasks.gate.answers import Answers, Claim, SlowLane, Waits
from postdate.domain import transitions
from postdate.domain.breaker import State
from postdate.domain.due import WAIT_MAX
from postdate.domain.task import Task
from postdate.stores.flow import Circuit
from postdate.targets.base import Delivery, Receipt

_LOOK_AGAIN: Final = timedelta(milliseconds=250)
_OPEN: Final = "the circuit breaker of its destination is open"
_TRIED: Final = "its destination is being tried"
_LEFT_ALONE: Final = frozenset({_OPEN, _TRIED})


@dataclass(kw_only=True, slots=True)
class Breakers:
    # The worker's copy of the breakers.
    circuits: Circuits
    # True if calls to slow destinations go by a lane of their own.
    moves_slow: bool
    # Outcomes that other threads have reported and that no breaker knows yet.
    _heard: deque[tuple[Delivery, Receipt]] = field(default_factory=deque, init=False)
    # Destinations of the claims at the gate that a worker may try now.
    _half_open: set[Circuit] = field(default_factory=set, init=False)
    # The starts that this worker keeps after a recovery, by the task and its version.
    _starts: dict[tuple[str, int], datetime] = field(default_factory=dict, init=False)
    # The probes of this batch, by the task and its token, each with the instant until which it is a probe.
    _probes: dict[tuple[str, int], tuple[Circuit, datetime | None]] = field(default_factory=dict, init=False)
    # The claims at the gate that took a probe, by their index, each with its task and token.
    _chosen: dict[int, tuple[str, int]] = field(default_factory=dict, init=False)
    # The deliveries that were not sent, by the task and its token.
    _unsent: deque[tuple[str, int]] = field(default_factory=deque, init=False)

    def foresee(self, tasks: Iterable[Task]) -> set[str]:
        """Looks at the breakers while there is still time until the instant. Returns the ids of the tasks whose calls
        go by the lane for slow destinations."""
        ways = {task.id: (circuit(task.tenant, task.destination), task.state.waits) for task in tasks}
        slow = self.circuits.foresee(way for way, _ in ways.values())
        if not self.moves_slow:
            return set()
        return {id for id, (way, waits) in ways.items() if waits and way in slow}

    def slowed(self, circuits: Iterable[Circuit]) -> None:
        for each in circuits:
            self.circuits.slowed(each)

    def hear(self, delivery: Delivery, receipt: Receipt) -> None:
        """Called by whichever thread ends a delivery."""
        self._heard.append((delivery, receipt))

    def not_sent(self, delivery: Delivery) -> None:
        """Called by whichever thread ends a delivery that tells nothing about its destination."""
        self._unsent.append((delivery.run_id, delivery.token))

    def listen(self) -> None:
        """Makes known what was heard, and gives back the probes that were not sent."""
        heard = []
        while self._heard:
            heard.append(self._heard.popleft())
        if heard:
            self.circuits.tell(heard)
        while self._unsent:
            if probe := self._probes.pop(self._unsent.popleft(), None):
                self.circuits.give_back(*probe)

    def past(self, claims: list[Claim], now: datetime) -> Answers:
        """Yields the answers for claims that no closed breaker lets pass."""
        ways = [circuit(claim.after.tenant, claim.after.destination) for _, claim in claims]
        known = self.circuits.breakers(ways)
        self._half_open = set()
        for way in dict.fromkeys(ways):
            some = [claim for claim, where in zip(claims, ways, strict=True) if where == way]
            match known[way].state(now):
                case State.OPEN:
                    yield from self._postpone(way, some, now, _OPEN)
                case State.PROBING:
                    yield from self._until_tried(way, some, now)
                case State.RECOVERING:
                    yield from self._in_turn(way, some, now)
                # The probe is chosen later, among the claims that no place keeps back.
                case State.HALF_OPEN:
                    self._half_open.add(way)
                case State.CLOSED if self.moves_slow and known[way].is_slow(now):
                    yield from ((index, SlowLane()) for index, _ in some)

    def as_probes(self, claims: list[Claim], now: datetime) -> Answers:
        """Lets one claim try each half-open breaker, and yields the answers for the others."""
        self._chosen = {}
        kept_back: dict[Circuit, list[Claim]] = {}
        for index, claim in claims if self._half_open else ():
            task = claim.after
            way = circuit(task.tenant, task.destination)
            if way not in self._half_open:
                continue
            if self.circuits.probe(way, task.timeout_seconds):
                self._chosen[index] = task.id, task.token
                self._probes[task.id, task.token] = way, self.circuits.breaker(way).probe_until
            else:
                kept_back.setdefault(way, []).append((index, claim))
        for way, some in kept_back.items():
            yield from self._until_tried(way, some, now)

    def give_back(self, indexes: Iterable[int]) -> None:
        """Gives back the probes of these claims, because their rooms are full: another claim may try."""
        for index in indexes:
            if (name := self._chosen.pop(index, None)) and (probe := self._probes.pop(name, None)):
                self.circuits.give_back(*probe)

    def _postpone(self, way: Circuit, claims: list[Claim], now: datetime, why: str) -> Answers:
        """Postpones calls to their turns, because the breaker is open or its probe takes long. Counts those that were
        not postponed for this reason before."""
        # A call whose last line is such a wait was counted then.
        new = sum(claim.before.history[-1].why not in _LEFT_ALONE for _, claim in claims)
        if new:
            self.circuits.count_behind_breaker(way, new)
        turns = self.circuits.turns(way, len(claims)) if claims else []
        for (index, claim), until in zip(claims, turns, strict=True):
            yield index, transitions.postpone(claim, now=now, until=until, why=why)

    def _until_tried(self, way: Circuit, claims: list[Claim], now: datetime) -> Answers:
        """A probe is mostly over in a moment, for which the calls behind it wait here."""
        late = []
        until = self.circuits.patience_ends(way)
        for index, claim in claims:
            if now < until and claim.before.recurs is None:
                yield index, Waits(until=now + _LOOK_AGAIN)
            else:
                late.append((index, claim))
        yield from self._postpone(way, late, now, _TRIED)

    def _in_turn(self, way: Circuit, claims: list[Claim], now: datetime) -> Answers:
        """Lets calls to a recovering destination begin one by one. A call keeps the start that it was given while this
        worker waits for it."""
        known = [self._starts.get((claim.before.id, claim.before.version)) for _, claim in claims]
        new = iter(self.circuits.starts(way, known.count(None)) if None in known else ())
        for (index, claim), start in zip(claims, known, strict=True):
            at = next(new) if start is None else start
            if now < at <= now + WAIT_MAX and claim.before.recurs is None:
                self._starts[claim.before.id, claim.before.version] = at
                yield index, Waits(until=at)
            elif now < at:
                yield index, transitions.postpone(claim, now=now, until=at, why="its destination recovers")
