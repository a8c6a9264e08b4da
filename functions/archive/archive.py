"""Archives a tenant's feed: a day's pages become one object for each kind of subject, and a manifest that names them.

The feed's pages are numbered without a gap, and so are the manifests: each begins behind the last page of the one
before. Objects come first, the manifest last. A run that dies leaves objects without a manifest; the next run writes
the same keys again, which changes nothing. If two runs work at once, the manifest of one is refused, and that run goes
on behind the other's. S3 alone says what is archived, so a restored table takes nothing back.
"""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date
from typing import Final

from postdate.domain import archiving
from postdate.domain.archiving import Manifest, Stored
from postdate.domain.errors import Unavailable
from postdate.domain.event import Event, Subject
from postdate.runtime.clock import Clock
from postdate.stores.archive import Archive
from postdate.stores.events import Events, FeedPage
from postdate.stores.vault import Vault

# Events of one manifest, as far as whole pages allow.
EVENTS_MAX: Final = 20_000
_PAGES_AT_ONCE: Final = 100


@dataclass(kw_only=True, slots=True)
class Archived:
    """The work on one tenant's feed."""

    # The number of manifests that were written.
    manifests: int = 0
    # The number of events in their objects.
    events: int = 0
    # False if time ran out before the tenant's last page that can be archived.
    is_done: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class NewestManifest:
    """The newest manifest of an owner, and the hash of its text as it is stored."""

    # The manifest.
    manifest: Manifest
    # The hash of its text as it is stored; the next manifest names it.
    sha256: str

    def last_page_of(self, log: str) -> int:
        """0 for a feed that began anew."""
        return self.manifest.last_page if self.manifest.log == log else 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Archiver:
    events: Events
    archive: Archive
    vault: Vault
    clock: Clock
    # Events of one manifest, as far as whole pages allow.
    events_max: int = EVENTS_MAX

    def run(self, tenant: str, *, has_time: Callable[[], bool], today: bool = False) -> Archived:
        """Archives each day that is over, and with `today` also the pages of the day that runs. Raises Unavailable;
        what was archived by then stays archived."""
        done = Archived()
        owner = archiving.pseudonym(self._sealed(tenant)(tenant))
        head = newest(self.archive, owner)
        while has_time():
            pages, is_closed = self._next_pages(tenant, head)
            # The day that runs may still get pages, and a manifest never changes.
            if not pages or not (is_closed or today):
                done.is_done = True
                break
            made, count = self._stored(tenant, owner, pages, head)
            if self.archive.put(made.key, made.text()):
                done.manifests += 1
                done.events += count
            # Read again, because another run may have written the manifest of this key.
            head = _read(self.archive, made.key)
        return done

    def _next_pages(self, tenant: str, head: NewestManifest | None) -> tuple[list[FeedPage], bool]:
        """The pages of one day behind the newest manifest, and whether no more can join them."""
        last = self.events.pages(tenant, limit=1, newest_first=True)
        if not last:
            return [], False
        # A feed that expired as a whole begins again, under another name and with page 1.
        after = head.last_page_of(last[0].log) if head is not None else 0
        found: list[FeedPage] = []
        count = 0
        while pages := self.events.pages(tenant, after=after, limit=_PAGES_AT_ONCE):
            for page in pages:
                if found and _day(page) != _day(found[0]):
                    return found, True
                found.append(page)
                count += len(page.entries)
                if count >= self.events_max:
                    return found, True
            after = pages[-1].number
        return found, bool(found) and self.clock.now().astimezone(UTC).date() > _day(found[0])

    def _stored(
        self, tenant: str, owner: str, pages: Sequence[FeedPage], head: NewestManifest | None
    ) -> tuple[Manifest, int]:
        """Writes the objects of these pages; returns their manifest, which is not written yet, and their events."""
        seal = self._sealed(tenant)
        events, missing = self._events_of(tenant, pages)
        first, last, day = pages[0], pages[-1], _day(pages[0])
        stored = []
        for kind, some in sorted(archiving.by_kind(events).items()):
            lines = b"".join(archiving.line_of(each, owner=owner, seal=seal) for each in some)
            # Equal events give an equal object under an equal key, so a run after a crash changes nothing.
            content = gzip.compress(lines, mtime=0)
            key = archiving.object_key(
                owner=owner, day=day, kind=kind, log=first.log, first_page=first.number, content=content
            )
            self.archive.put(key, content)
            digest = archiving.hash_of(content)
            stored.append(Stored(key=key, kind=kind, events=len(some), bytes=len(content), sha256=digest))
        made = Manifest(
            owner=owner,
            log=first.log,
            first_page=first.number,
            last_page=last.number,
            day=day,
            recorded_from=first.recorded_at,
            recorded_until=last.recorded_at,
            objects=tuple(stored),
            missing=tuple(seal(each) for each in missing),
            # Pages that expired before any run archived them.
            lost_pages=first.number - 1 - (head.last_page_of(first.log) if head is not None else 0),
            previous_key=head.manifest.key if head is not None else "",
            previous_sha256=head.sha256 if head is not None else "",
        )
        return made, len(events)

    def _events_of(self, tenant: str, pages: Sequence[FeedPage]) -> tuple[list[Event], list[str]]:
        """The events of these pages in the feed's order, and the ids of those that have no row."""
        events: list[Event] = []
        missing: list[str] = []
        for page in pages:
            found = self.events.listed(tenant, page.entries)
            for entry in page.entries:
                if entry in found:
                    events.append(found[entry])
                else:
                    subject = Subject(tenant=tenant, kind=entry.kind, id=entry.id)
                    missing.append(subject.event_id(entry.sequence))
        return events, missing

    def _sealed(self, tenant: str) -> Callable[[str], str]:
        return lambda text: self.vault.seal(archiving.owner_of_key(tenant), archiving.PURPOSE, text)


def newest(archive: Archive, owner: str) -> NewestManifest | None:
    """The newest manifest of an owner; None before the first one. Raises Unavailable."""
    days = archive.folders(archiving.manifests_of(owner))
    keys = [key for day in days[-1:] for key in archive.keys(day)]
    return _read(archive, keys[-1]) if keys else None


def _read(archive: Archive, key: str) -> NewestManifest:
    text = archive.get(key)
    if text is None:
        raise Unavailable(f"the manifest {key} vanished")
    return NewestManifest(manifest=Manifest.parse(text), sha256=archiving.hash_of(text))


def _day(page: FeedPage) -> date:
    return page.recorded_at.astimezone(UTC).date()
