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
from postdate.domain.event import Event, Subject, kind_of_item
from postdate.domain.payment import Payment
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.stores.events import Events, FeedPage, page_before

# A record that is older has left its stream. An event that is made before its record comes stays poorer for ever.
IN_STREAM: Final = timedelta(hours=25)
# A record that a letter names is through its stream, and those of other versions of its row are near.
NEAR: Final = timedelta(minutes=10)
_PAGES_AT_ONCE: Final = 20
_EVENTS_AT_ONCE: Final = 1000

# The items of these ids that exist.
Load = Callable[[Iterable[str]], Mapping[str, Payment | Task]]


@dataclass(kw_only=True, slots=True)
class EventsChecked:
    """The result of a search for missing events."""

    # The number of subjects that were looked at.
    subjects: int = 0
    # The ids of events that were made.
    filled: list[str] = field(default_factory=list)
    # The ids of missing events that no history tells of.
    left: list[str] = field(default_factory=list)
    # The page behind which the search goes on; None at the end of the span.
    after: int | None = None


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
        """Looks at each subject of which an event was recorded since then, and at all of its versions. Raises
        Unavailable; what was filled by then stays filled."""
        found = EventsChecked(after=page_before(self._events, tenant, since) if after is None else after)
        seen: set[Subject] = set()
        while has_time():
            pages = self._events.pages(tenant, after=found.after or 0, limit=_PAGES_AT_ONCE)
            subjects = _subjects(pages) - seen
            self.fill(subjects, found, age=IN_STREAM)
            seen |= subjects
            if len(pages) < _PAGES_AT_ONCE:
                found.after = None
                break
            found.after = pages[-1].number
        return found

    def fill(self, subjects: Iterable[Subject], found: EventsChecked, *, age: timedelta) -> None:
        """Makes the missing events of these subjects, of versions that are at least that old. Subjects other than items
        have no history: what is missing is named."""
        subjects = list(subjects)
        for subject in subjects:
            if kind_of_item(subject.id) != subject.kind and subject.kind != "plan":
                found.subjects += 1
                found.left += [subject.event_id(number) for number in self._gaps(subject)]
        wanted = [each for each in subjects if kind_of_item(each.id) == each.kind and each.kind != "plan"]
        items = self._load(each.id for each in wanted)
        by_tenant: dict[str, list[Event]] = defaultdict(list)
        for subject in wanted:
            found.subjects += 1
            item = items.get(subject.id)
            missing, left = self._missing(subject, item, until=self._clock.now() - age)
            by_tenant[subject.tenant] += missing
            found.left += [subject.event_id(sequence) for sequence in left]
        for tenant, events in by_tenant.items():
            if events:
                self._recorder.record_events(tenant, events)
                found.filled += [event.id for event in events]

    def _missing(
        self, subject: Subject, item: Payment | Task | None, *, until: datetime
    ) -> tuple[list[Event], list[int]]:
        """The events up to an instant that the item's history shows and that are not recorded, and the numbers of
        missing events that it does not show."""
        recorded = self._recorded(subject)
        told = {} if item is None else self._unexpired(_events_of(item))
        missing = [
            event for number, event in told.items() if number not in recorded and event.occurred_at <= until
        ]
        # Versions above the newest one that is known are no gap.
        newest = max((*recorded, *(event.sequence for event in missing)), default=0)
        first = self._first(subject, recorded | told, has_history=item is not None)
        return missing, [number for number in range(first, newest) if number not in recorded | told]

    def _gaps(self, subject: Subject) -> list[int]:
        recorded = self._recorded(subject)
        first = self._first(subject, recorded, has_history=False)
        return [number for number in range(first, max(recorded, default=0)) if number not in recorded]

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


def _subjects(pages: Sequence[FeedPage]) -> set[Subject]:
    return {
        Subject(tenant=page.tenant, kind=entry.kind, id=entry.id) for page in pages for entry in page.entries
    }


def _events_of(item: Payment | Task) -> list[Event]:
    if isinstance(item, Payment):
        return payment_event.events_of_history(item, after=0)
    return task_event.events_of_history(item)
