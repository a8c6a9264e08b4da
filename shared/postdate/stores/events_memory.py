"""Events in memory, for tests."""

from collections.abc import Iterable, Mapping, Sequence
from threading import Lock

from postdate.domain.event import Event, Subject
from postdate.stores.events import FeedEntry, FeedPage


class MemoryEvents:
    def __init__(self) -> None:
        self._lock = Lock()
        self._events: dict[tuple[Subject, int], tuple[Event, int]] = {}
        self._pages: dict[tuple[str, int], FeedPage] = {}

    def put(self, events: Sequence[Event], *, after: Mapping[str, int]) -> dict[str, int]:
        there: dict[str, int] = {}
        with self._lock:
            for event in events:
                key = event.subject, event.sequence
                if key in self._events:
                    there[event.id] = self._events[key][1]
                else:
                    self._events[key] = event, after[event.subject.tenant]
        return there

    def append(self, page: FeedPage) -> bool:
        with self._lock:
            return self._pages.setdefault((page.tenant, page.number), page) is page

    def pages(
        self,
        tenant: str,
        *,
        after: int = 0,
        limit: int,
        newest_first: bool = False,
        before: int | None = None,
    ) -> list[FeedPage]:
        found = [
            page
            for (owner, number), page in self._pages.items()
            if owner == tenant and number > after and (before is None or number < before)
        ]
        return sorted(found, key=lambda page: page.number, reverse=newest_first)[:limit]

    def listed(self, tenant: str, entries: Iterable[FeedEntry]) -> dict[FeedEntry, Event]:
        keys = {each: (Subject(tenant=tenant, kind=each.kind, id=each.id), each.sequence) for each in entries}
        return {
            each: self._events[key][0]
            for each, key in keys.items()
            if key in self._events and self._events[key][0].type == each.type
        }

    def some(self, keys: Iterable[tuple[Subject, int]]) -> dict[tuple[Subject, int], Event]:
        return {key: self._events[key][0] for key in keys if key in self._events}

    def of(self, subject: Subject, *, after: int = 0, limit: int) -> list[Event]:
        found = [
            event
            for (known, sequence), (event, _) in self._events.items()
            if known == subject and sequence > after
        ]
        return sorted(found, key=lambda event: event.sequence)[:limit]
