"""The items of an operation, in pages of 25."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Final

PAGE_ITEMS: Final = 25


class Outcome(StrEnum):
    """Result for one item. SENT: the action was taken, and the end of the attempt is not known yet. FAILED: the
    attempt failed; the task's own retries may follow. CHANGED: the item is no longer what the plan saw, and was
    left alone. MISSING: the letter to discard was not found; an earlier slice may have deleted it before a crash."""

    WAITING = "waiting"
    SENT = "sent"
    DONE = "done"
    FAILED = "failed"
    CHANGED = "changed"
    MISSING = "missing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One item of an operation."""

    # The id of the item.
    id: str
    # The version that the plan saw.
    version: int
    # The result so far.
    outcome: Outcome = Outcome.WAITING
    # The instant at which the item was acted on; None before.
    at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """Up to 25 items of an operation, in one row."""

    # The id of the operation.
    operation: str
    # The number of the page, from 0.
    number: int
    # The items, in the order of the plan.
    entries: tuple[Entry, ...]
    # The number of writes so far.
    version: int = 1

    @property
    def waiting(self) -> tuple[Entry, ...]:
        return tuple(each for each in self.entries if each.outcome is Outcome.WAITING)

    @property
    def open(self) -> tuple[Entry, ...]:
        return tuple(each for each in self.entries if each.outcome is Outcome.SENT)

    def changed(self, entries: Iterable[Entry]) -> "Page":
        """The next version, with these entries in the place of those with the same id."""
        new = {each.id: each for each in entries}
        told = tuple(new.get(each.id, each) for each in self.entries)
        return replace(self, entries=told, version=self.version + 1)


def pages_of(operation: str, entries: Sequence[Entry]) -> list[Page]:
    return [
        Page(operation=operation, number=number, entries=tuple(entries[start : start + PAGE_ITEMS]))
        for number, start in enumerate(range(0, len(entries), PAGE_ITEMS))
    ]
