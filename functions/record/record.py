"""Records the changes of one batch: each event's row first, then its entry in the tenant's feed, then its deliveries to
subscriptions.

A worker that dies between the two leaves a row without an entry. The stream delivers the batch again; the row then
tells behind which page of the feed its entry would be, and the pages from there on tell whether it is. Deliveries have
ids that follow from the event, so each is made once.
"""

import random
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from functions.record.changes import Change
from postdate.domain import instants
from postdate.domain.errors import Unavailable, Unreadable
from postdate.domain.event import Event, parsed_id
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.events import ENTRIES_MAX, Events, FeedEntry, FeedPage

_FEEDS_KNOWN: Final = 1000
# A letter has 256 KB.
_NAMED_MAX: Final = 500
_PAGES_AT_ONCE: Final = 100
# The event or the events of a change.
Reader: TypeAlias = Callable[[Change], Event | Sequence[Event] | None]
# Each of them is another writer's page, or this one's own.
_ROUNDS_MAX: Final = 50
# The longest pause before the next try, from the first one to all late ones.
_PAUSE_FIRST: Final = timedelta(milliseconds=10)
_PAUSE_MAX: Final = timedelta(milliseconds=500)


@dataclass(frozen=True, kw_only=True, slots=True)
class _End:
    """The newest page of a feed that this worker has seen."""

    # The feed, and its last page: the next one gets the next number.
    log: str
    # The number of that page.
    number: int
    # No later page may be recorded before this instant.
    recorded_at: datetime

    @classmethod
    def of(cls, page: FeedPage) -> "_End":
        return cls(log=page.log, number=page.number, recorded_at=page.recorded_at)


@dataclass(kw_only=True, slots=True)
class Recorded:
    """The result of one batch of changes."""

    # The events of the batch that are recorded now.
    events: list[Event] = field(default_factory=list)
    # Those of them that were not recorded before.
    new: list[Event] = field(default_factory=list)
    # The numbers of records that have to be delivered again.
    failed: set[str] = field(default_factory=set)
    # The changes that this code cannot read.
    poisoned: list[tuple[Change, Exception]] = field(default_factory=list)

    @property
    def doubled(self) -> int:
        return len(self.events) - len(self.new)


class Recorder:
    """`readers` make a change of each table an event. `notify` makes the deliveries of a tenant's events, in the order
    of each subject; it is called again for the same events after a crash. `bury` writes a letter about a tenant's
    events whose deliveries newer code alone can make; False if it could not. `publish` puts them on the bus, once or
    more: last, so that a bus that fails keeps no event out of the feed. None where there is no bus."""

    def __init__(
        self,
        *,
        events: Events,
        readers: Mapping[str, Reader],
        notify: Callable[[str, Sequence[Event]], None],
        bury: Callable[[str, Sequence[str]], bool],
        clock: Clock,
        publish: Callable[[str, Sequence[Event]], None] | None = None,
        draw: Callable[[], float] = random.random,
    ) -> None:
        self._events = events
        self._notify = notify
        self._bury = bury
        self._publish = publish
        self._readers = readers
        self._clock = clock
        self._draw = draw
        self._ends: OrderedDict[str, _End] = OrderedDict()

    def record(self, changes: Iterable[Change]) -> Recorded:
        """Records the changes of each tenant by itself: a failure of one tenant stops no other."""
        found = Recorded()
        by_tenant: dict[str, list[tuple[Event, str]]] = defaultdict(list)
        for change in changes:
            try:
                told = self._readers[change.table](change)
            except Exception as error:
                # Reading is pure: whatever it raises speaks of this record alone.
                found.poisoned.append((change, error))
                continue
            for event in [told] if isinstance(told, Event) else told or ():
                by_tenant[event.subject.tenant].append((event, change.number))
        for tenant, pairs in by_tenant.items():
            once = {event.id: event for event, _ in pairs}
            try:
                there = self.record_events(tenant, list(once.values()))
                found.events += once.values()
                found.new += [event for event in once.values() if event.id not in there]
            except Unavailable:
                logger.exception("events were not recorded", extra={"action": "record_failed"})
                found.failed |= {number for _, number in pairs}
        return found

    def record_events(self, tenant: str, events: Sequence[Event]) -> Set[str]:
        """Records one tenant's events and makes their deliveries. Returns the ids of those that were there already.
        Raises Unavailable: the caller repeats all. A subscription that newer code alone can read holds up no other
        tenant of the shard: the deliveries of these events become a letter."""
        recorded, there = self._record(tenant, events)
        # In any case, also for known events: an earlier try may have crashed before it notified.
        try:
            self._notify(tenant, recorded)
        except Unreadable:
            self._put_aside(tenant, [event.id for event in events])
        if self._publish is not None:
            self._publish(tenant, recorded)
        return there

    def deliver(self, tenant: str, ids: Iterable[str]) -> None:
        """Makes the deliveries of recorded events. Raises Unavailable if one may be missing."""
        keys = [key for id in ids if (key := parsed_id(tenant, id)) is not None]
        self._notify(tenant, list(self._events.some(keys).values()))

    def _put_aside(self, tenant: str, ids: Sequence[str]) -> None:
        """Called while Unreadable is handled."""
        logger.exception("deliveries cannot be made", extra={"action": "unreadable", "events": len(ids)})
        for start in range(0, len(ids), _NAMED_MAX):
            if not self._bury(tenant, ids[start : start + _NAMED_MAX]):
                raise Unavailable("a letter could not be written")

    def _as_recorded(self, stamped: Sequence[Event], there: Set[str]) -> list[Event]:
        """Rows that were there keep what was recorded first: its instant, and its type if a history made them."""
        keys = [(event.subject, event.sequence) for event in stamped if event.id in there]
        stored = self._events.some(keys) if keys else {}
        return [stored.get((event.subject, event.sequence), event) for event in stamped]

    def _record(self, tenant: str, events: Sequence[Event]) -> tuple[list[Event], Set[str]]:
        """Records the events of one tenant; returns them as they are stored, and the ids of those that were there
        already."""
        end = self._end(tenant)
        now = self._clock.now()
        stamped = [replace(event, recorded_at=now) for event in events]
        there = self._events.put(stamped, after={tenant: end.number if end else 0})
        recorded = self._as_recorded(stamped, there.keys())
        entries = [FeedEntry.of(event) for event in recorded]
        # An earlier try wrote these rows. Their entries may be listed since the page that their rows name.
        if there:
            listed, newest = self._listed_behind(tenant, min(there.values()))
            entries = [entry for entry in entries if entry.key not in listed]
            end = newest or end
        for start in range(0, len(entries), ENTRIES_MAX):
            end = self._append(tenant, entries[start : start + ENTRIES_MAX], end)
        return recorded, there.keys()

    def _append(self, tenant: str, entries: Sequence[FeedEntry], end: _End | None) -> _End | None:
        """Writes the entries as the page after `end` and returns the newest page. No page up to `end` may contain one
        of them.

        A refusal means that the number is taken, by another writer or by an earlier try whose answer was lost. After a
        pause of random length the pages since `end` are read, the entries found there are removed, and the rest is
        tried again. Writers that do not pause refuse each other again and again.
        """
        left = list(entries)
        for refused in range(_ROUNDS_MAX):
            now = self._clock.now()
            page = FeedPage(
                tenant=tenant,
                log=end.log if end else f"{instants.milliseconds(now):x}",
                number=end.number + 1 if end else 1,
                # Instants of pages never go back, whatever the clocks say: `page_before` halves by them.
                recorded_at=max(now, end.recorded_at) if end else now,
                entries=tuple(left),
            )
            if self._events.append(page):
                return self._keep(page)
            longest = min(_PAUSE_MAX, _PAUSE_FIRST * 2 ** min(refused, 10))
            self._clock.sleep_until(self._clock.now() + longest * self._draw())
            listed, newest = self._listed_behind(tenant, end.number if end else 0)
            left = [entry for entry in left if entry.key not in listed]
            end = newest or end
            if not left:
                return end
        raise Unavailable(f"{_ROUNDS_MAX} other writers were faster")

    def _end(self, tenant: str) -> _End | None:
        """The newest page of a tenant's feed; None before the first one."""
        if tenant not in self._ends:
            for page in self._events.pages(tenant, limit=1, newest_first=True):
                self._keep(page)
        return self._ends.get(tenant)

    def _listed_behind(self, tenant: str, number: int) -> tuple[set[tuple[str, str, int]], _End | None]:
        """The keys of the entries of all pages behind this one, and the last of these pages; None if there is none."""
        found, newest = set[tuple[str, str, int]](), None
        while pages := self._events.pages(tenant, after=number, limit=_PAGES_AT_ONCE):
            for page in pages:
                found |= {entry.key for entry in page.entries}
            newest = _End.of(pages[-1])
            self._keep(pages[-1])
            number = pages[-1].number
        return found, newest

    def _keep(self, page: FeedPage) -> _End:
        known = self._ends.pop(page.tenant, None)
        if known is None or known.number < page.number:
            known = _End.of(page)
        # The feed that was used last goes to the end; the first one is dropped when there are too many.
        self._ends[page.tenant] = known
        if len(self._ends) > _FEEDS_KNOWN:
            self._ends.popitem(last=False)
        return known
