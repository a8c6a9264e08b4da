"""The archive over the feeds that a run has recorded: workers of the archive die, and each event is in it once."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Final

from cli.archive import read, verify
from functions.archive.archive import Archiver
from postdate.domain.event import Subject
from postdate.stores import event_row
from postdate.stores.archive import MemoryArchive
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.events import FeedEntry
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.vault import Vault
from tests.simulation.seen import Broken, Seen

if TYPE_CHECKING:
    from tests.simulation.streams import Streams

_EVENTS_OF_A_MANIFEST: Final = 20
_DIES: Final = 0.1


class _Death(BaseException):
    """The worker ends here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Night:
    """The clock of the night after the last page."""

    instant: datetime

    def now(self) -> datetime:
        return self.instant

    def sleep_until(self, instant: datetime) -> None:
        """Returns at once: the clock stands still."""


class _Dying(MemoryArchive):
    def __init__(self, draws: Random) -> None:
        super().__init__()
        self._draws = draws
        self.died = 0

    def put(self, key: str, content: bytes) -> bool:
        drawn = self._draws.random()
        written = drawn < _DIES / 2 or super().put(key, content)
        if drawn < _DIES:
            self.died += 1
            raise _Death
        return written


def i20_the_archive_has_each_event(seen: Seen, streams: "Streams") -> None:
    """Each event that a feed lists is archived once, as it was recorded, and all objects fit their manifests."""
    for tenant in sorted({tenant for tenant, _ in streams.versions}):
        events, listed = _recorded(seen, tenant)
        if not listed:
            continue
        last = events.pages(tenant, limit=1, newest_first=True)[0].recorded_at
        clock, archive = _Night(instant=last + timedelta(days=1)), _Dying(Random(len(listed)))
        vault = Vault(data_keys=MemoryDataKeys(), clock=clock)
        for _ in _until_done(events, archive, vault, clock, tenant):
            seen.reach["archive died"] += 1
        found = verify(archive)
        if found.problems or found.unnamed:
            raise Broken(
                f"I20: the archive of {tenant}: {found.problems}, {found.unnamed} objects without a manifest"
            )
        archived = Counter(event["event_id"] for event in read(archive, vault, tenant))
        if archived != Counter(listed):
            differs = sorted((archived - Counter(listed)) + (Counter(listed) - archived))
            raise Broken(
                f"I20: {len(listed)} events of {tenant} are listed; the archive differs by {differs[:3]}"
            )
        seen.reach["events archived"] += len(listed)


def _until_done(
    events: MemoryEvents, archive: _Dying, vault: Vault, clock: _Night, tenant: str
) -> Iterator[None]:
    """Runs the archive until a worker comes to the end; yields for each worker that dies."""
    while True:
        worker = Archiver(
            events=events, archive=archive, vault=vault, clock=clock, events_max=_EVENTS_OF_A_MANIFEST
        )
        try:
            worker.run(tenant, has_time=lambda: True)
        except _Death:
            yield
        else:
            return


def _recorded(seen: Seen, tenant: str) -> tuple[MemoryEvents, list[str]]:
    """The tenant's pages and events as the engine has them, and the ids that the pages list."""
    found, listed = MemoryEvents(), list[str]()
    for row in seen.engine.rows_of("events", event_row.feed_key(tenant)):
        page = event_row.page_of(row)
        found.append(page)
        for entry in page.entries:
            subject = _subject(tenant, entry)
            listed.append(subject.event_id(entry.sequence))
            stored = seen.engine.row(
                "events", event_row.subject_key(subject), event_row.number_key(entry.sequence)
            )
            if stored is not None:
                found.put([event_row.event_of(stored)], after={tenant: 0})
    return found, listed


def _subject(tenant: str, entry: FeedEntry) -> Subject:
    return Subject(tenant=tenant, kind=entry.kind, id=entry.id)
