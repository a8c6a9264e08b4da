"""Finds events that are missing, and makes them from the histories of their items.

An event goes missing when its record could not be read: a newer release wrote the row, or a mistake of ours stopped the
recorder at it. The feed then tells of an earlier or a later version of the same item, or a letter names the row. An
event that is made here is `reconstructed`: a history has no values but those of the newest version. It is listed and
delivered like any other, and it is made once. Events expire, and an expired one is not missing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from functions.record.record import Recorder
from postdate.domain import payment_event, task_event
from postdate.domain.event import Event, Subject
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.stores.events import Events, FeedEntry, FeedPage, page_before

# A record that is older has left its stream. An event that is made before its record comes stays poorer for ever.
IN_STREAM: Final = timedelta(hours=25)
# A record that a letter names is through its stream, and those of other versions of its row are near.
NEAR: Final = timedelta(minutes=10)
_PAGES_AT_ONCE: Final = 20
_EVENTS_AT_ONCE: Final = 1000
# A page may add another hundred gaps. A gap has 300 bytes at most.
_GAPS_MAX: Final = 500
_FILLED_NAMED: Final = 100

# The items of these ids that exist.
Load = Callable[[Iterable[str]], Mapping[str, Payment | Task]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """The missing events of one subject that no history tells of."""

    # The id of the first one.
    event_id: str
    # The sequence of the last one.
    last: int
    # The number of missing events; some between the first and the last may be there.
    count: int


@dataclass(kw_only=True, slots=True)
class EventsChecked:
    """The result of a search for missing events. It is small enough for the state machine, whose states have 256 KB."""

    # The number of subjects that were looked at.
    subjects: int = 0
    # The ids of the first events that were made or listed.
    filled: list[str] = field(default_factory=list)
    # The number of all such events.
    filled_count: int = 0
    # The subjects with missing events that no history tells of.
    left: list[Gap] = field(default_factory=list)
    # The page behind which the search goes on; None at the end of the span.
    after: int | None = None

    def fill(self, ids: Sequence[str]) -> None:
        self.filled = [*self.filled, *ids][:_FILLED_NAMED]
        self.filled_count += len(ids)

    @property
    def is_full(self) -> bool:
        return len(self.left) >= _GAPS_MAX


@dataclass(kw_only=True, slots=True)
class _Span:
    """The readings of one search: pages of a feed, and rows that no page lists."""

    # The instants of the first page and of the last one; None before they are read.
    began: datetime | None = None
    ended: datetime | None = None
    # The keys of all entries.
    listed: set[tuple[str, str, int]] = field(default_factory=set)
    # The rows, with the instants of their recording.
    rows: dict[tuple[Subject, int], datetime] = field(default_factory=dict)

    def read(self, pages: Sequence[FeedPage]) -> None:
        for page in pages:
            self.began, self.ended = self.began or page.recorded_at, page.recorded_at
            self.listed |= {entry.key for entry in page.entries}

    def meet(self, rows: Mapping[tuple[Subject, int], datetime]) -> None:
        """Keeps rows that were recorded since the first page and are not on the pages so far."""
        for (subject, sequence), at in rows.items():
            key = subject.kind, subject.id, sequence
            if self.began is not None and at >= self.began and key not in self.listed:
                self.rows[subject, sequence] = at

    def unlisted(self, *, until: datetime) -> list[tuple[Subject, int]]:
        """The rows up to an instant that no page lists."""
        return [
            (subject, sequence)
            for (subject, sequence), at in self.rows.items()
            if at <= until and (subject.kind, subject.id, sequence) not in self.listed
        ]


class Mender:
    """`kept` is the time for which events stay in their table."""

    def __init__(
        self, *, events: Events, recorder: Recorder, load: Load, kept: timedelta, clock: Clock
    ) -> None:
        self._events = events
        self._kept = kept
        self._recorder = recorder
        self._load = load
        self._clock = clock

    def check(
        self,
        tenant: str,
        *,
        since: datetime,
        after: int | None,
        has_time: Callable[[], bool],
    ) -> EventsChecked:
        """Looks at each subject of which an event was recorded since then, and at all of its versions, until the result
        is full. Also lists the rows of these subjects that were recorded in the span and that no page lists. Raises
        Unavailable; what was filled by then stays filled."""
        found = EventsChecked(after=page_before(self._events, tenant, since) if after is None else after)
        span, seen, until = _Span(), set[Subject](), self._clock.now() - IN_STREAM
        while has_time() and not found.is_full:
            pages = self._events.pages(tenant, after=found.after or 0, limit=_PAGES_AT_ONCE)
            for page in pages:
                if found.is_full:
                    break
                span.read([page])
                subjects = _subjects(page) - seen
                span.meet(self.fill(subjects, found, age=IN_STREAM))
                seen |= subjects
                found.after = page.number
            if len(pages) < _PAGES_AT_ONCE and not found.is_full:
                found.after = None
                break
        if found.after is not None:
            # Rows of the last pages may be listed on the next ones.
            until = min(until, span.ended or until)
            span.read(self._events.pages(tenant, after=found.after, limit=_PAGES_AT_ONCE))
        if unlisted := span.unlisted(until=until):
            self._list(tenant, unlisted, found)
        return found

    def _list(self, tenant: str, unlisted: Iterable[tuple[Subject, int]], found: EventsChecked) -> None:
        """Lists and delivers recorded events. The recorder looks for each of them on all pages since its row, so what a
        page lists is not listed again. Nobody else repairs such a row: its worker died, and its record has left the
        stream."""
        newest = self._events.pages(tenant, limit=1, newest_first=True)
        after = max((page.number for page in newest), default=0)
        rows = self._events.some(unlisted)
        in_order = sorted(rows.values(), key=lambda event: (event.occurred_at, event.sequence))
        self._recorder.record_events(tenant, in_order)
        wanted = {FeedEntry.of(event).key: event.id for event in rows.values()}
        while pages := self._events.pages(tenant, after=after, limit=_PAGES_AT_ONCE):
            listed = (entry.key for page in pages for entry in page.entries)
            found.fill([wanted.pop(key) for key in listed if key in wanted])
            after = pages[-1].number

    def fill(
        self, subjects: Iterable[Subject], found: EventsChecked, *, age: timedelta
    ) -> Mapping[tuple[Subject, int], datetime]:
        """Makes the missing events of these subjects, of versions that are at least that old. Subjects other than items
        have no history: what is missing is named. Returns the rows that were there, with the instants of their
        recording."""
        subjects = list(subjects)
        items = self._load(each.id for each in subjects if _has_history(each))
        rows: dict[tuple[Subject, int], datetime] = {}
        by_tenant: dict[str, list[Event]] = defaultdict(list)
        for subject in subjects:
            recorded = self._recorded(subject)
            rows |= {
                (subject, each.sequence): each.recorded_at for each in recorded.values() if each.recorded_at
            }
            if subject.kind == "plan":
                continue
            found.subjects += 1
            item = items.get(subject.id) if _has_history(subject) else None
            missing, left = self._missing(subject, item, recorded, until=self._clock.now() - age)
            by_tenant[subject.tenant] += missing
            if left:
                found.left.append(Gap(event_id=subject.event_id(left[0]), last=left[-1], count=len(left)))
        for tenant, events in by_tenant.items():
            if events:
                self._recorder.record_events(tenant, events)
                found.fill([event.id for event in events])
        return rows

    def _missing(
        self, subject: Subject, item: Payment | Task | None, recorded: Mapping[int, Event], *, until: datetime
    ) -> tuple[list[Event], list[int]]:
        """The events up to an instant that the item's history shows and that are not recorded, and the numbers of
        missing events that it does not show."""
        told = {} if item is None else self._unexpired(_events_of(item))
        missing = [
            event for number, event in told.items() if number not in recorded and event.occurred_at <= until
        ]
        # Versions above the newest one that is known are no gap.
        newest = max((*recorded, *(event.sequence for event in missing)), default=0)
        known = {**recorded, **told}
        first = self._first(subject, known, has_history=item is not None)
        return missing, [number for number in range(first, newest) if number not in known]

    def _first(self, subject: Subject, known: Mapping[int, Event], *, has_history: bool) -> int:
        """The lowest sequence that cannot have expired. A history tells when the first version was made. Of a tenant
        whose own first event cannot have expired, no other one can. The first page of its feed would not tell: a feed
        that has expired begins with a first page again."""
        lowest = min(self._unexpired(known.values()), default=max(known, default=1))
        if has_history or lowest == 1:
            return lowest
        owner = Subject(tenant=subject.tenant, kind="tenant", id=subject.tenant), 1
        return 1 if self._unexpired(self._events.some([owner]).values()) else lowest

    def _unexpired(self, events: Iterable[Event]) -> dict[int, Event]:
        """Events by their sequences, without those that occurred so long ago that they may have expired. An event
        expires by the instant of its recording, which is later, and its row is removed up to some days later."""
        return {event.sequence: event for event in events if event.occurred_at > self._expired_until}

    @property
    def _expired_until(self) -> datetime:
        return self._clock.now() - self._kept

    def _recorded(self, subject: Subject) -> dict[int, Event]:
        found: dict[int, Event] = {}
        after = 0
        while events := self._events.of(subject, after=after, limit=_EVENTS_AT_ONCE):
            found |= {event.sequence: event for event in events}
            after = events[-1].sequence
        return found


def _has_history(subject: Subject) -> bool:
    return subject.is_item and subject.kind != "plan"


def _subjects(page: FeedPage) -> set[Subject]:
    return {Subject(tenant=page.tenant, kind=entry.kind, id=entry.id) for entry in page.entries}


def _events_of(item: Payment | Task) -> list[Event]:
    if isinstance(item, Payment):
        return payment_event.events_of_history(item, after=0)
    return task_event.events_of_history(item)
