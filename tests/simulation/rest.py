"""The end of a run: all items come to rest, and a person redrives what is in the dead letters."""

from dataclasses import dataclass, field
from typing import Final

from tests.simulation import items_at_rest, operations
from tests.simulation.clients import Clients
from tests.simulation.engine import CALLS, Engine
from tests.simulation.hub import Hub
from tests.simulation.mix import HOUR, MINUTE
from tests.simulation.poison import calls_in
from tests.simulation.rows import text
from tests.simulation.seen import Seen

ENDS_WITHIN: Final = 4 * HOUR
_REDRIVES: Final = (1, 2, 3)


@dataclass(kw_only=True, slots=True, eq=False)
class Rest:
    """`scripted` is true for a run with one caller, whose dead tasks nobody tries again by the API."""

    hub: Hub
    seen: Seen
    engine: Engine
    clients: Clients
    scripted: bool
    _tried_again: set[str] = field(default_factory=set)

    def drain(self) -> None:
        """Runs until every item has ended and no call is on its way. Raises Broken if that takes too long."""
        began = self.hub.now
        if not self.hub.run(self._is_quiet, deadline=began + ENDS_WITHIN):
            operations.i24_each_is_carried_out(self.seen)
            items_at_rest.i22_it_comes_to_rest(self.seen)
        took = (self.hub.now - began) // MINUTE
        self.seen.reach["minutes until all had ended, at most"] = max(
            self.seen.reach["minutes until all had ended, at most"], took
        )

    def redrive(self) -> None:
        """Redrives the dead letters up to three times, and drains after each time."""
        for letters in _REDRIVES:
            self._let_letters_rest()
            if not self._bring_back():
                break
            self.seen.reach["redriven"] += 1
            self.hub.note(f"letters brought back, time {letters}")
            self.drain()

    def _is_quiet(self) -> bool:
        calls = any(self.engine.messages(queue) for queue in CALLS)
        works = any(status != "PAUSED" for status in operations.executed(self.seen).values())
        if self.seen.open or calls or works:
            return False
        return not operations.abandoned(self.seen)

    def _let_letters_rest(self) -> None:
        """Leaves the letters alone until the audits of the minutes of their items are over."""
        if self.seen.began.letters_rest and self.seen.letters():
            self.hub.run(lambda: False, deadline=self.hub.now + self.seen.began.letters_rest)
            self.seen.reach["letters rested"] += 1

    def _bring_back(self) -> bool:
        """Acts as a person who redrives all dead letters, once no other work is left. False if there were none."""
        items_at_rest.i16_who_is_dead_has_a_letter(self.seen)
        brought = self._try_again()
        for queue in ("tasks", "payments"):
            kept = self.seen.buried_poison(queue)
            for message in [each for each in self.engine.messages(f"{queue}-dlq") if each not in kept]:
                if {id for id, _, _ in calls_in(message["body"])} & self._tried_again:
                    continue
                self.engine.send(queue, message["body"])
                self.engine.messages(f"{queue}-dlq").remove(message)
                brought = True
        self.hub.stirred = True
        return brought

    def _try_again(self) -> bool:
        """Redrives some of the dead tasks by the API. The next call brings back their letters."""
        self._tried_again = {
            row["id"]["S"]
            for row in self.seen.items()
            if not self.scripted and text(row, "status") == "DEAD" and self.hub.draws.random() < 0.3
        }
        for id in sorted(self._tried_again):
            self.clients.try_again(id)
        self.hub.run(lambda: self.clients.busy == 0, deadline=self.hub.now + HOUR)
        return bool(self._tried_again)
