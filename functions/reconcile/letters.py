"""Reconciles dead letters with the items that they call."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from functions.reconcile.papers import Papers
from postdate.domain.reconciling import LETTER_HAS_ITEM, Finding
from postdate.runtime.dead_letters import Letter, Letters

# In one look. More letters than that are a matter for an operation, and no list of them is whole.
LETTERS_MAX: Final = 1_000


@dataclass(frozen=True, kw_only=True, slots=True)
class LetterQueue:
    """Dead letters of one queue. `known` returns the items of these ids that exist, by a consistent read."""

    name: str
    letters: Letters
    known: Callable[[Iterable[str]], Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class LetterBox:
    queues: tuple[LetterQueue, ...]

    def check(self, papers: Papers) -> None:
        """Writes down which items have letters, and which letters call nothing. The letters stay where they are."""
        findings: list[Finding] = []
        paper: dict[str, Any] = {"whole": True}
        counts: dict[str, int] = {}
        for queue in self.queues:
            letters = queue.letters.look(LETTERS_MAX)
            try:
                findings += _without_item(queue, letters)
            finally:
                queue.letters.release(letters)
            paper["whole"] = paper["whole"] and len(letters) < LETTERS_MAX
            paper[queue.name] = [[due.id, due.version] for letter in letters for due in letter.dues]
            counts[queue.name] = len(letters)
        papers.put_letters(paper)
        papers.put_found("letters", findings, letters=counts)


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
