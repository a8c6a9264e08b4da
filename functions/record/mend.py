"""Finds events that are missing, and makes them from the histories of their items.

An event goes missing when its record could not be read: a newer release wrote the row, or a mistake of ours stopped the
recorder at it. The feed then tells of an earlier or a later version of the same item, or a letter names the row. An
event that is made here is `reconstructed`: a history has no values but those of the newest version. It is listed and
delivered like any other, and it is made once.
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
    def __init__(self, *, events: Events, recorder: Recorder, load: Load, clock: Clock) -> None:
        self._events = events
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
        recorded = self._sequences(subject)
        told = {event.sequence: event for event in ([] if item is None else _events_of(item))}
        missing = [
            event
            for number, event in told.items()
            if number not in recorded and event.occurred_at <= until and item is not None
        ]
        # Versions above the newest one that is known are no gap.
        newest = max((*recorded, *(event.sequence for event in missing)), default=0)
        left = set(range(1, newest)) - recorded - {event.sequence for event in missing} - told.keys()
        return missing, sorted(left)

    def _gaps(self, subject: Subject) -> list[int]:
        recorded = self._sequences(subject)
        return sorted(set(range(1, max(recorded, default=0))) - recorded)

    def _sequences(self, subject: Subject) -> set[int]:
        found: set[int] = set()
        after = 0
        while events := self._events.of(subject, after=after, limit=_EVENTS_AT_ONCE):
            found |= {event.sequence for event in events}
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
