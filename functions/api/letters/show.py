"""Dead letters with what is known of their items. A letter that is used up goes when it is met."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from postdate.domain.due import Due
from postdate.domain.letters import used_up
from postdate.domain.operation_counts import fingerprint
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.runtime.dead_letters import Letter, Letters

Item = Task | Payment


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownLetter:
    """One item of a letter."""

    # The message in the queue of dead letters.
    letter: Letter
    # The call for the item; None for a message that cannot be read.
    due: Due | None
    # The item as it is now; None if it is gone or unknown.
    item: Item | None

    @property
    def failure(self) -> str:
        return fingerprint(self.item.error if self.item is not None else "the letter cannot be read")

    @property
    def destination(self) -> str | None:
        return self.item.destination.address if isinstance(self.item, Task) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Letters of one failure to one destination."""

    # The fingerprint of the error, which is equal for equal causes.
    failure: str
    # None for payments, and for items that are gone.
    destination: str | None
    # The number of letters.
    count: int
    # The instant at which the oldest of the letters came.
    oldest: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class DeadLetters:
    """Shows the dead letters of one queue."""

    # The queue.
    letters: Letters
    # Finds items by their ids.
    load: Callable[[Iterable[str]], Mapping[str, Item]]
    clock: Clock

    def shown(self, most: int) -> list[ShownLetter]:
        """Up to `most` letters, the oldest first. Looking hides them from others for a moment."""
        found = self.letters.look(most)
        known: Mapping[str, Item] = {}
        over: list[Letter] = []
        try:
            known = self.load(due.id for letter in found for due in letter.dues)
            over = [letter for letter in found if used_up(letter.dues, known.get)]
        # In any case: letters that are not released stay hidden from others for half a minute.
        finally:
            gone = {letter.id for letter in over}
            left = [letter for letter in found if letter.id not in gone]
            self.letters.delete(over)
            self.letters.release(left)
        return [
            ShownLetter(letter=letter, due=due, item=None if due is None else known.get(due.id))
            for letter in sorted(left, key=lambda letter: letter.sent_at)
            for due in (letter.dues or (None,))
            if due is None or not used_up([due], known.get)
        ]

    def age(self, letter: Letter) -> timedelta:
        return max(self.clock.now() - letter.sent_at, timedelta(0))


def grouped(shown: Iterable[ShownLetter]) -> list[Group]:
    """The largest group first."""
    each = list(shown)
    counts = Counter((one.failure, one.destination) for one in each)
    oldest: dict[tuple[str, str | None], datetime] = {}
    for one in each:
        group = (one.failure, one.destination)
        oldest[group] = min(oldest.get(group, one.letter.sent_at), one.letter.sent_at)
    return [
        Group(failure=failure, destination=destination, count=count, oldest=oldest[failure, destination])
        for (failure, destination), count in counts.most_common()
    ]
