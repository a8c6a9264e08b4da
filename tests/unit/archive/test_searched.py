"""Random nights of the archive: runs die, answers get lost, two run at once, feeds begin anew. Each planted mistake
takes one of the archive's rules away, and some night must show it."""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

import pytest

from cli.archive import read, verify
from functions.archive import archive as archives
from functions.archive.archive import Archiver, NewestManifest
from postdate.domain.archiving import Manifest
from postdate.domain.errors import Unavailable
from postdate.domain.event import Event
from postdate.stores.archive import MemoryArchive
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.vault import Vault
from tests.unit.archive.test_archive import NAMES, account, payment, task
from tests.unit.doubles import START, ManualClock

SEEDS: Final = 300
FOUND_WITHIN: Final = 300
_STEPS: Final = 30
_FAULTS: Final = 0.12


class Death(BaseException):
    """The worker ends here."""


@dataclass(slots=True)
class Nights:
    """One random history. `faults` is off while the last runs are made."""

    draws: random.Random
    store: MemoryArchive = field(default_factory=MemoryArchive)
    events: MemoryEvents = field(default_factory=MemoryEvents)
    data_keys: MemoryDataKeys = field(default_factory=MemoryDataKeys)
    clock: ManualClock = field(default_factory=ManualClock)
    recorded: list[Event] = field(default_factory=list)
    log: int = 0x1A
    faults: bool = True
    inside: bool = False

    def record(self) -> None:
        number = len(self.events.pages("acme", limit=10_000)) + 1
        sequence = len(self.recorded) + 1
        kinds = (payment(1), account(), task())
        made = [
            replace(self.draws.choice(kinds), sequence=sequence + each, recorded_at=self.clock.now())
            for each in range(self.draws.randint(1, 3))
        ]
        self.events.put(made, after={"acme": 0})
        entries = tuple(map(FeedEntry.of, made))
        page = FeedPage(
            tenant="acme", log=f"{self.log:x}", number=number, recorded_at=self.clock.now(), entries=entries
        )
        assert self.events.append(page)
        self.recorded += made

    def begin_anew(self) -> None:
        """All pages expired; all were archived before."""
        self.clock.sleep_until(self.clock.now() + timedelta(days=1))
        faults, self.faults = self.faults, False
        self.run()
        self.faults = faults
        self.events._pages.clear()
        self.log += 1

    def run(self) -> None:
        archiver = Archiver(
            events=self.events,
            archive=Faulty(self),
            vault=Vault(data_keys=self.data_keys, clock=self.clock),
            clock=self.clock,
            events_max=4,
        )
        try:
            archiver.run("acme", has_time=lambda: True)
        except (Death, Unavailable):
            assert self.faults


class Faulty(MemoryArchive):
    """The archive as one run sees it."""

    def __init__(self, nights: Nights) -> None:
        super().__init__()
        self.nights = nights
        self.objects = nights.store.objects

    def put(self, key: str, content: bytes) -> bool:
        nights, drawn = self.nights, self.nights.draws.random()
        if not nights.faults:
            return super().put(key, content)
        if drawn < _FAULTS:
            raise Death
        if drawn < 2 * _FAULTS and not nights.inside:
            nights.inside = True
            nights.run()
            nights.inside = False
        written = super().put(key, content)
        if 2 * _FAULTS <= drawn < 3 * _FAULTS:
            raise Unavailable("the answer is lost")
        return written


def wrong(seed: int) -> str:
    """The first contradiction of this seed's history; empty if there is none."""
    nights = Nights(random.Random(seed))
    for _ in range(_STEPS):
        match nights.draws.randrange(8):
            case 0 | 1 | 2:
                nights.record()
            case 3 | 4:
                nights.clock.sleep_until(nights.clock.now() + timedelta(hours=nights.draws.randint(1, 30)))
            case 5 | 6:
                nights.run()
            case _ if nights.draws.random() < 0.3:
                nights.begin_anew()
    nights.clock.sleep_until(nights.clock.now() + timedelta(days=2))
    nights.faults = False
    nights.run()
    return _contradiction(nights)


def _contradiction(nights: Nights) -> str:
    found = verify(nights.store)
    if found.problems or found.unnamed:
        return f"{found.problems}, {found.unnamed} unnamed"
    vault = Vault(data_keys=nights.data_keys, clock=nights.clock)
    events = list(read(nights.store, vault, "acme")) if nights.recorded else []
    if sorted(each["event_id"] for each in events) != sorted(each.id for each in nights.recorded):
        return f"{len(nights.recorded)} events were recorded, {len(events)} are archived"
    by_subject = [(each["subject"]["id"], each["sequence"]) for each in events]
    if any(
        [each for each in by_subject if each[0] == id] != sorted(each for each in by_subject if each[0] == id)
        for id in {id for id, _ in by_subject}
    ):
        return "a subject's events are out of order"
    for key, content in nights.store.objects.items():
        readable = gzip.decompress(content).decode() if key.endswith(".gz") else content.decode()
        if any(name in key + readable for name in NAMES):
            return f"{key} tells a name"
        if key.endswith(".gz"):
            days = {json.loads(line)["recorded_at"][:10] for line in readable.splitlines()}
            if days != {key.partition("day=")[2][:10]}:
                return f"{key} has events of {sorted(days)}"
    return ""


def test_random_nights_keep_every_rule() -> None:
    assert [(seed, what) for seed in range(SEEDS) if (what := wrong(seed))] == []


@contextmanager
def _manifest_first(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The manifest is written before the objects that it names."""
    put = Faulty.put
    late: list[tuple[str, bytes]] = []

    def reordered(self: Faulty, key: str, content: bytes) -> bool:
        if key.startswith("events/"):
            late.append((key, content))
            return True
        objects, late[:] = list(late), []
        written = put(self, key, content)
        for each in objects:
            put(self, *each)
        return written

    patch.setattr(Faulty, "put", reordered)
    yield


@contextmanager
def _one_manifest_a_day(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A day's second manifest is written over its first: its key names no page, and no write says `If-None-Match`."""

    def over(self: MemoryArchive, key: str, content: bytes) -> bool:
        self.objects[key] = content
        return True

    patch.setattr(MemoryArchive, "put", over)
    patch.setattr(Manifest, "key", property(lambda it: f"manifests/{it.owner}/{it.day}/{it.log}.json"))
    yield


@contextmanager
def _one_log(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A feed that began anew goes on behind the pages of the one before."""
    patch.setattr(NewestManifest, "last_page_of", lambda self, log: self.manifest.last_page)
    yield


@contextmanager
def _timed_gzip(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A repeated run makes other objects."""
    instants = iter(range(1, 10_000_000))

    def compressed(content: bytes, **_: Any) -> bytes:
        return gzip.compress(content, mtime=next(instants))

    patch.setattr(archives, "gzip", type("timed", (), {"compress": staticmethod(compressed)}))
    yield


@contextmanager
def _days_mixed(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """All pages count as one day's, as long as they fit."""
    patch.setattr(archives, "_day", lambda page: START.date())
    yield


@contextmanager
def _key_of_each_copy(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """A tenant's key is made anew when a copy of the function starts."""
    run = Nights.run

    def forgetful(self: Nights) -> None:
        self.data_keys.keys.clear()
        run(self)

    patch.setattr(Nights, "run", forgetful)
    yield


@contextmanager
def _accounts_readable(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Somebody takes descriptions for words of ours."""
    patch.setattr(archives.archiving, "PLAIN", archives.archiving.PLAIN | {"description"})
    yield


MISTAKES: Final[tuple[Callable[[pytest.MonkeyPatch], Any], ...]] = (
    *(_manifest_first, _one_manifest_a_day, _one_log, _timed_gzip, _days_mixed),
    *(_key_of_each_copy, _accounts_readable),
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__.strip("_"))
def test_each_planted_mistake_is_found(mistake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with mistake(monkeypatch):
        assert any(wrong(seed) for seed in range(FOUND_WITHIN)), mistake.__doc__
