"""Pages of a tenant's feed, in the order in which its events were recorded.

The pages of a feed are written one behind the other and never change, so a follower who goes on behind the last event
that was shown misses none.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from functions.api import listing
from functions.api.events.query import PLACE, FeedQuery
from functions.api.events.waiting import WaitingSeats
from postdate.domain.event import Event
from postdate.runtime.clock import Clock
from postdate.stores.events import Events, FeedEntry, FeedPage, page_before

# A waiting request holds a copy of `api`: for longer than this only from a seat.
_WITHOUT_SEAT: Final = timedelta(seconds=2)
_LOOKS_EVERY: Final = timedelta(milliseconds=250)
_LOOKS_LATER: Final = timedelta(milliseconds=500)
# After 20 s of the function's 29 no call to AWS begins any more (functions/api/handler.py): the last look comes before.
_WAIT_MOST: Final = timedelta(seconds=18)
_PAGES_AT_ONCE: Final = 50
_ROUNDS_MAX: Final = 20
# Behind every entry of a page.
_ENTRY_MAX: Final = 999

# The number of a page and the entry's place in it.
Place: TypeAlias = tuple[int, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedAnswer:
    """A page of a feed."""

    # The events, in the order of the request.
    events: list[Event]
    # The beginning of the next page; None on the last one.
    cursor: str | None
    # The place behind this page, for events to come; None for the newest first, and in an empty feed.
    follow: str | None
    # True if the page ended before it was full, because looking took too long.
    partial: bool = False


def page(
    query: FeedQuery, events: Events, *, clock: Clock, seats: WaitingSeats | None, id: str
) -> FeedAnswer:
    """Returns a page. If there is no event, waits for the next one as long as the query says. `id` names the request.
    Without a free seat, and without `seats`, a request waits for two seconds at most."""
    began = clock.now()
    shown = _waited(
        query, events, clock, looks_every=_LOOKS_EVERY, until=began + min(query.wait, _WITHOUT_SEAT)
    )
    if _is_told(shown, query) or query.wait <= _WITHOUT_SEAT or seats is None:
        return shown
    with seats.taken(query.tenant, id, query.wait) as is_seated:
        if not is_seated:
            return shown
        return _waited(
            query, events, clock, looks_every=_LOOKS_LATER, until=began + min(query.wait, _WAIT_MOST)
        )


def _waited(
    query: FeedQuery, events: Events, clock: Clock, *, looks_every: timedelta, until: datetime
) -> FeedAnswer:
    while True:
        shown = _Reading(query, events, listing.within(clock)).shown()
        now = clock.now()
        if _is_told(shown, query) or now >= until:
            return shown
        clock.sleep_until(min(until, now + looks_every))


def _is_told(shown: FeedAnswer, query: FeedQuery) -> bool:
    return bool(shown.events) or shown.partial or query.newest_first


class _Reading:
    def __init__(self, query: FeedQuery, events: Events, has_time: Callable[[], bool]) -> None:
        self._query = query
        self._events = events
        self._has_time = has_time
        self._log = ""

    def shown(self) -> FeedAnswer:
        start = self._start()
        found: list[Event] = []
        at, read_to = start, self._query.span.after
        for _ in range(_ROUNDS_MAX):
            pages = self._pages(at)
            places = list(self._places(pages, at))
            loaded = self._loaded(entry for _, entry, is_wanted in places if is_wanted)
            # The place moves over entries that are not wanted too: a follower does not read them again.
            for place, entry, is_wanted in places:
                at, read_to = place, self._text(place)
                event = loaded.get(entry)
                if is_wanted and event is not None and self._query.wants(event):
                    found.append(event)
                    if len(found) == self._query.span.limit:
                        goes_on = place != places[-1][0] or len(pages) == _PAGES_AT_ONCE
                        return self._answer(found, read_to, goes_on=goes_on)
            if len(pages) < _PAGES_AT_ONCE or self._is_past(pages[-1]):
                return self._answer(found, read_to, goes_on=False)
            if not self._has_time():
                break
        return self._answer(found, read_to, goes_on=True, partial=True)

    def _answer(
        self, found: list[Event], read_to: str, *, goes_on: bool, partial: bool = False
    ) -> FeedAnswer:
        cursor = self._query.span.cursor(read_to) if read_to else None
        return FeedAnswer(
            events=found,
            cursor=cursor if goes_on else None,
            follow=None if self._query.newest_first else cursor,
            partial=partial,
        )

    def _start(self) -> Place | None:
        """The place behind which the page begins; None for the first place of the order. A cursor of a feed that has
        expired as a whole and begun anew leads to the first place too."""
        query = self._query
        match = PLACE.fullmatch(query.span.after)
        if match is None:
            return None if query.since is None or query.newest_first else self._first_since(query.since)
        self._log, number = match[1], int(match[2])
        known = self._events.pages(query.tenant, after=number - 1, limit=1) or self._newest()
        # The cursor is of a feed that expired as a whole. Its numbers mean nothing in this one.
        if known and known[0].log != self._log:
            return None
        return number, int(match[3])

    def _first_since(self, since: datetime) -> Place | None:
        before = page_before(self._events, self._query.tenant, since)
        return (before, _ENTRY_MAX) if before else None

    def _newest(self) -> Sequence[FeedPage]:
        return self._events.pages(self._query.tenant, limit=1, newest_first=True)

    def _pages(self, at: Place | None) -> list[FeedPage]:
        tenant = self._query.tenant
        if self._query.newest_first:
            before = None if at is None else at[0] + 1
            return self._events.pages(tenant, limit=_PAGES_AT_ONCE, newest_first=True, before=before)
        return self._events.pages(tenant, after=at[0] - 1 if at else 0, limit=_PAGES_AT_ONCE)

    def _places(self, pages: Sequence[FeedPage], at: Place | None) -> Iterator[tuple[Place, FeedEntry, bool]]:
        """The entries behind this place, in the order that is asked for, and whether they are in the span of time."""
        for page in pages:
            self._log = page.log
            numbered, is_in_span = list(enumerate(page.entries)), self._query.spans(page)
            for index, entry in reversed(numbered) if self._query.newest_first else numbered:
                place = page.number, index
                if at is None or (place < at if self._query.newest_first else place > at):
                    yield place, entry, is_in_span

    def _loaded(self, entries: Iterator[FeedEntry]) -> Mapping[FeedEntry, Event]:
        wanted = [entry for entry in entries if self._query.may_want(entry)]
        return self._events.listed(self._query.tenant, wanted) if wanted else {}

    def _is_past(self, page: FeedPage) -> bool:
        """True if no event behind this page was recorded in the span that the request asks for."""
        query = self._query
        if query.newest_first:
            return query.since is not None and page.recorded_at < query.since
        return query.until is not None and page.recorded_at >= query.until

    def _text(self, place: Place) -> str:
        return f"{self._log}.{place[0]}.{place[1]}"
