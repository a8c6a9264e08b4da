"""Runs many actors in one thread. The seed draws the next actor, and time moves only when no actor can go on."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from random import Random
from typing import Any, Final

from aws_lambda_powertools.event_handler.api_gateway import BaseRouter
from greenlet import getcurrent, greenlet

SECOND: Final = 1_000_000


class Crash(BaseException):
    """The process ends here; no `except Exception` is run on the way."""


class Stuck(BaseException):
    """Raised when no actor can go on any more, or when a run does not come to its end."""


@dataclass(kw_only=True, slots=True, eq=False)
class Actor:
    """`skew` is how far the clock of its machine is ahead, in microseconds; `request` names its invocation,
    `address` is the one that it asks from,
    `calls_given` the items and versions that it was woken for, `word` the run and the token that a receiver was given.
    `asked` is its last call to AWS, `met` what the first try of it met; `spent` counts the calls of its invocation,
    which began at `invoked_at` and in which `faults` calls met a fault.
    `arrived` is what one call of the ledger has written so far: accounts that received money, and of which instant.
    `queue` is the one that it works for, `operation` the operation that it carries out, `path` is what a caller
    asks for, `items_asked` of how many items. One
    that `is_newer` runs newer code, and one that has an event it does not survive `dies_after` so many calls. For one
    that is `rowless` AWS leaves out the rows of refused statements until its invocation ends."""

    name: str
    hub: "Hub"
    skew: int = 0
    skew_max: int = 0
    tenant: str | None = None
    request: str = ""
    address: str = "10.0.0.1"
    wired: Any = None
    calls_given: frozenset[tuple[str, int]] = frozenset()
    arrived: list[tuple[str, int]] = field(default_factory=list)
    doomed: bool = False
    done: bool = False
    parks: int = 0
    sticky: tuple[Any, int] | None = None
    calls: int = 0
    word: tuple[str, int] | None = None
    asked: Any = None
    queue: str = ""
    path: str = ""
    items_asked: int = 0
    spent: Counter[Any] = field(default_factory=Counter)
    invoked_at: int = 0
    faults: int = 0
    met: Any = None
    is_newer: bool = False
    operation: str = ""
    dies_after: int | None = None
    rowless: bool = False
    greenlet: Any = None

    @property
    def now(self) -> int:
        return self.hub.now + self.skew

    def skewed(self, skew: int) -> None:
        self.skew = skew
        self.skew_max = max(self.skew_max, skew)


@dataclass(kw_only=True, slots=True, eq=False)
class Hub:
    """Microseconds since 1970 are `now`. `lines` is what happened, the same for the same seed."""

    draws: Random
    now: int
    steps_max: int = 200_000
    steps: int = 0
    sticky: float = 0.0
    lines: list[str] = field(default_factory=list)
    began: int = 0
    stirred: bool = True
    actors: list[Actor] = field(default_factory=list)
    _ready: list[tuple[Actor, int]] = field(default_factory=list)
    _timers: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: int = 0
    _last: Actor | None = None
    _loop: Any = None
    when_idle: list[Callable[[], int | None]] = field(default_factory=list)

    def spawn(self, actor: Actor, body: Callable[[], None], *, delay: int = 0) -> Actor:
        def run() -> None:
            try:
                body()
            except Crash:
                pass
            finally:
                actor.done = True

        actor.greenlet = greenlet(run)
        actor.greenlet.actor = actor
        self.actors.append(actor)
        self._resume_at(actor, self.now + delay)
        return actor

    def at(self, instant: int, callback: Callable[[], None]) -> None:
        self._numbers += 1
        heappush(self._timers, (instant, self._numbers, callback))

    def after(self, delay: int, callback: Callable[[], None]) -> None:
        self.at(self.now + delay, callback)

    @property
    def current(self) -> Actor | None:
        return getattr(getcurrent(), "actor", None)

    def park(self, delay: int | None = 0) -> None:
        """The current actor waits; without a delay until it is woken."""
        actor = self.current
        if actor is None:
            raise Stuck("only an actor can wait")
        actor.parks += 1
        if delay is not None:
            self._resume_at(actor, self.now + delay)
        kept = getattr(BaseRouter, "current_event", None), getattr(BaseRouter, "lambda_context", None)
        self._loop.switch()
        BaseRouter.current_event, BaseRouter.lambda_context = kept
        if actor.doomed:
            actor.doomed = False
            raise Crash

    def wake(self, actor: Actor) -> None:
        """Ends all waits of the actor."""
        actor.parks += 1
        self._ready.append((actor, actor.parks))

    def kill(self, actor: Actor) -> None:
        if not actor.done and actor is not self.current:
            actor.doomed = True
            self.wake(actor)

    def run(self, until: Callable[[], bool], *, deadline: int) -> bool:
        """False when the deadline came first."""
        self._loop = getcurrent()
        while not until():
            if self.stirred:
                self.stirred = False
                for look in self.when_idle:
                    look()
            if self._ready:
                self._step()
                continue
            due = [instant for look in self.when_idle if (instant := look()) is not None]
            if self._ready:
                continue
            if self._timers:
                due.append(self._timers[0][0])
            if not due:
                raise Stuck("nobody can go on and nothing is to come")
            instant = max(self.now, min(due))
            if instant > deadline:
                self.now = deadline
                return False
            self.now = instant
            self.stirred = True
            while self._timers and self._timers[0][0] <= self.now:
                heappop(self._timers)[2]()
        return True

    def end(self) -> None:
        """Ends the actors of this run, wherever they are."""
        self._loop = getcurrent()
        for actor in self.actors:
            for _ in range(50):
                if actor.done or actor.greenlet.dead or not actor.greenlet:
                    break
                actor.greenlet.throw(Crash)
        self.actors.clear()
        self._ready.clear()
        self._timers.clear()
        self.when_idle.clear()

    def note(self, text: str) -> None:
        actor = self.current
        moment = (self.now - self.began) / SECOND
        self.lines.append(f"{moment:12.6f} {actor.name if actor else '-':<12} {text}")

    def _step(self) -> None:
        self.steps += 1
        if self.steps > self.steps_max:
            raise Stuck(f"{self.steps_max} steps and no end")
        ready = self._ready
        place = self.draws.randrange(len(ready)) if len(ready) > 1 else 0
        if self.sticky and self.draws.random() < self.sticky:
            place = next((at for at, (actor, _) in enumerate(ready) if actor is self._last), place)
        actor, parks = ready.pop(place)
        if actor.parks == parks and not actor.done:
            self._last = actor
            actor.greenlet.switch()

    def _resume_at(self, actor: Actor, instant: int) -> None:
        parks = actor.parks
        if instant <= self.now:
            self._ready.append((actor, parks))
            return

        def resume() -> None:
            if actor.parks == parks and not actor.done:
                self._ready.append((actor, parks))

        self.at(instant, resume)
