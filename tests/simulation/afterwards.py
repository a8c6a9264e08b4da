"""Weeks after a run: its actors are gone, its checkers look no more, and a few new actors work on what is left."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from postdate.domain.errors import BooksDisagree, Unavailable
from tests.simulation.hub import SECOND, Actor, Crash
from tests.simulation.mix import Fault
from tests.simulation.seen import Broken

if TYPE_CHECKING:
    from tests.simulation.run import Run

DAY: Final = 24 * 3600 * SECOND
RATES: Final = {
    Fault.CRASH_BEFORE: 0.01,
    Fault.CRASH_AFTER: 0.01,
    Fault.LOST: 0.02,
    Fault.ERROR: 0.02,
    Fault.THROTTLED: 0.01,
    Fault.UNREAD: 0.02,
}


@dataclass(kw_only=True, slots=True, eq=False)
class Afterwards:
    run: "Run"

    def begin(self) -> None:
        """Ends all actors of the run. From here on its checkers of steps and calls are not asked."""
        self.run.is_over = True
        self.run.hub.end()

    @contextmanager
    def faulty(self) -> Iterator[None]:
        calm = self.run.mix
        self.run.mix = self.run.wire.mix = replace(calm, rates=RATES)
        try:
            yield
        finally:
            self.run.mix = self.run.wire.mix = calm

    def actor(self, name: str, *, function: str = "", tenant: str | None = None) -> Actor:
        """One that runs a copy of the function, or a caller."""
        if not function:
            return Actor(name=name, hub=self.run.hub, tenant=tenant)
        copy, wired = self.run.functions.copy(function)
        return Actor(name=copy, hub=self.run.hub, wired=wired)

    def together(self, within: int, *works: tuple[Actor, Callable[[Actor], None]]) -> None:
        """Runs actors side by side, until each has ended."""
        left = len(works)

        def body(actor: Actor, work: Callable[[Actor], None]) -> None:
            nonlocal left
            work(actor)
            left -= 1

        hub = self.run.hub
        for actor, work in works:
            hub.spawn(actor, lambda actor=actor, work=work: body(actor, work))
        if not hub.run(lambda: left == 0, deadline=hub.now + within):
            raise Broken(f"I22: {', '.join(actor.name for actor, _ in works)} does not come to its end")

    def answered(self, actor: Actor, function: str, event: Mapping[str, Any]) -> dict[str, Any]:
        """Calls the function again and again, as a state machine does, until it answers."""
        while True:
            try:
                found: dict[str, Any] = self.run.functions.invoke(actor, function, dict(event))
            except Crash:
                self.run.seen.reach[f"{function} died"] += 1
                actor.sticky = None
            except BooksDisagree:
                raise
            except Unavailable:
                self.run.seen.reach[f"{function} was put off"] += 1
            else:
                return found
            self.run.hub.park(int(self.run.hub.draws.uniform(1, 30) * SECOND))
