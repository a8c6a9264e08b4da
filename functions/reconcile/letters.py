"""Reconciles dead letters with the items that they call.

SQS estimates the number of its messages, and may answer from some of its servers only. So each queue is looked at
twice, and both looks count together.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from functions.reconcile.papers import Papers
from postdate.domain.reconciling import LETTER_HAS_ITEM, Finding
from postdate.runtime.clock import Clock
from postdate.runtime.dead_letters import HIDDEN_SECONDS, Letter, Letters

# In one look. More letters than that are a matter for an operation, and no list of them is whole.
LETTERS_MAX: Final = 1_000
# A letter that another reader had hidden at the first look shows itself again before the second.
LOOKS_APART: Final = timedelta(seconds=HIDDEN_SECONDS + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class LetterQueue:
    """Dead letters of one queue. `known` returns the items of these ids that exist, by a consistent read."""

    name: str
    letters: Letters
    known: Callable[[Iterable[str]], Mapping[str, Any]]


@dataclass(kw_only=True, slots=True)
class _Seen:
    """The result of all looks at one queue."""

    # The letters found, by their ids.
    letters: dict[str, Letter] = field(default_factory=dict)
    # The greatest number of letters that SQS told of.
    told: int = 0
    # True if a look ended because it had found enough.
    cut: bool = False

    @property
    def whole(self) -> bool:
        """True if no letter can be missing."""
        return not self.cut and len(self.letters) >= self.told


@dataclass(frozen=True, kw_only=True, slots=True)
class LetterBox:
    queues: tuple[LetterQueue, ...]
    clock: Clock

    def check(self, papers: Papers) -> None:
        """Writes down which items have letters, and which letters call nothing. The letters stay where they are. A
        list that may lack letters is noted as not whole, and its queue as not judged."""
        findings: list[Finding] = []
        seen = {queue.name: _Seen() for queue in self.queues}
        for queue in self.queues:
            findings += _looked(queue, seen[queue.name])
        self.clock.sleep_until(self.clock.now() + LOOKS_APART)
        for queue in self.queues:
            findings += _looked(queue, seen[queue.name])
        paper: dict[str, Any] = {"whole": all(each.whole for each in seen.values())}
        for name, each in seen.items():
            paper[name] = [[due.id, due.version] for letter in each.letters.values() for due in letter.dues]
        papers.put_letters(paper)
        papers.put_found(
            "letters",
            findings,
            letters={name: len(each.letters) for name, each in seen.items()},
            moving=[f"letters of {name}" for name, each in seen.items() if not each.whole],
        )


def _looked(queue: LetterQueue, seen: _Seen) -> list[Finding]:
    """Adds one look to what was seen of the queue, and returns its findings."""
    # Counted on both sides: letters that go or come during the look make the list not whole.
    told = queue.letters.count()
    letters = queue.letters.look(LETTERS_MAX)
    try:
        findings = list(_without_item(queue, letters))
    finally:
        queue.letters.release(letters)
    seen.letters |= {letter.id: letter for letter in letters}
    seen.told = max(seen.told, told, queue.letters.count())
    seen.cut = seen.cut or len(letters) >= LETTERS_MAX
    return findings


def _without_item(queue: LetterQueue, letters: list[Letter]) -> Iterator[Finding]:
    known = queue.known({due.id for letter in letters for due in letter.dues})
    unreadable: frozenset[str] = getattr(known, "unreadable", frozenset())
    for letter in letters:
        missing = [due.id for due in letter.dues if due.id not in known and due.id not in unreadable]
        if missing or not letter.dues:
            yield Finding(
                check=LETTER_HAS_ITEM,
                tenant=letter.tenant,
                subject=letter.id,
                observed=missing or "a text that is no message of ours",
                expected=f"items that exist, in the queue {queue.name}",
            )
