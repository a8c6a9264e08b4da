"""Store of events: rows that are written once, and a feed for each tenant that lists them.

A feed is a sequence of pages numbered from 1 without a gap. A page is written only by a writer that has read the page
before it, and never changes. So a reader that has read up to a page has missed no event before it, whatever clocks
and retries do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from postdate.domain.event import Event, Subject

ENTRIES_MAX = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedEntry:
    """An event in a page of a feed: the key of its row, without the tenant."""

    # The type of the event, which begins with the kind of its subject.
    type: str
    # The id of the subject.
    id: str
    # The sequence of the event.
    sequence: int

    @classmethod
    def of(cls, event: Event) -> "FeedEntry":
        return cls(type=event.type, id=event.subject.id, sequence=event.sequence)

    @property
    def kind(self) -> str:
        return self.type.partition(".")[0]

    @property
    def key(self) -> tuple[str, str, int]:
        """The kind and the id of the subject, and the sequence. Two writers may tell one version as events of different
        types, of which the first is stored."""
        return self.kind, self.id, self.sequence


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedPage:
    """One page of a feed: events that were recorded together, in their order."""

    # The owner of the feed.
    tenant: str
    # The name of the feed. A feed that expired as a whole begins again under another name.
    log: str
    # The number of the page, one more than that of the page before.
    number: int
    # The instant of the recording, never before that of the page before.
    recorded_at: datetime
    # The events, by their keys.
    entries: tuple[FeedEntry, ...]


class Events(Protocol):
    def put(self, events: Sequence[Event], *, after: Mapping[str, int]) -> dict[str, int]:
        """Inserts the events that are not stored yet. `after` is the newest known page of each tenant's feed: the event
        will be listed on a later page. Returns the ids of the events that were stored before, with the page numbers
        stored with them."""

    def append(self, page: FeedPage) -> bool:
        """False if another writer has written the page of that number."""

    def pages(
        self,
        tenant: str,
        *,
        after: int = 0,
        limit: int,
        newest_first: bool = False,
        before: int | None = None,
    ) -> list[FeedPage]:
        """The pages behind the page `after` and before the page `before`, by a consistent read."""

    def listed(self, tenant: str, entries: Iterable[FeedEntry]) -> dict[FeedEntry, Event]:
        """The events of these entries that are there."""

    def some(self, keys: Iterable[tuple[Subject, int]]) -> dict[tuple[Subject, int], Event]:
        """The events with these subjects and sequences that exist, by a consistent read."""

    def of(self, subject: Subject, *, after: int = 0, limit: int) -> list[Event]:
        """A subject's events behind a sequence, in their order."""


def page_before(events: Events, tenant: str, since: datetime) -> int:
    """The number of the newest page before all that were recorded at this instant or later; 0 for none. Found by
    halving: no page is recorded before the one before it."""
    newest = events.pages(tenant, limit=1, newest_first=True)
    low, high = 0, max((page.number for page in newest), default=0)
    while low < high:
        middle = (low + high + 1) // 2
        found = events.pages(tenant, after=middle - 1, limit=1)
        if found and found[0].recorded_at < since:
            low = found[0].number
        else:
            high = middle - 1
    return low
