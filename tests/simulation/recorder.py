"""The recorder under faults: streams of several shards, workers that die, pause and come twice, and a follower.

Each run is made from a seed. Versions of some payments are the records of a stream, those of one payment in one shard.
Every call of a recorder to its store is a place where another actor may go on, where the worker may die, where the
answer may be lost, or where nothing is answered. A worker that takes too long is given up: its batch goes to another
one, and it goes on all the same. Clocks are an hour apart. A follower reads the feed meanwhile, by its cursor.

Checked: each version is one event and one entry of the feed (I20), and the follower sees each event of its tenant, each
payment's in order (I23).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

from greenlet import greenlet

from functions.api.events.feed import page
from functions.api.events.query import FeedQuery
from functions.api.events.waiting import WaitingSeats
from functions.record.changes import Change
from functions.record.record import Recorder
from postdate.domain.errors import Unavailable
from postdate.domain.event import Event, Subject
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.flow_memory import MemoryFlow
from tests.simulation.seen import Broken

# The values of this module alone: the module `run` takes the place of the clock and of AWS for the whole process.
START: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
TENANTS: Final = ("acme", "zeta")
SHARDS: Final = 3
PAYMENTS: Final = 6
VERSIONS_MAX: Final = 7
FAULTY_STEPS: Final = 250
STEPS_MAX: Final = 20_000
_HOUR: Final = 3600


class Crash(BaseException):
    """The worker ends here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    seed: int
    broken: str | None
    reach: Mapping[str, int]


class _Clock:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._skew = timedelta(seconds=world.random.uniform(-_HOUR, _HOUR))

    def now(self) -> Any:
        return START + self._skew + timedelta(milliseconds=self._world.steps)

    def sleep_until(self, instant: Any) -> None:
        """Others may go on meanwhile. How long a writer waits is left to the order of the actors."""
        self._world.park()


class _Store(MemoryEvents):
    """Every call parks its actor before and after, and meets the faults of the run."""

    def __init__(self, world: "World") -> None:
        super().__init__()
        self._world = world

    def put(self, events: Sequence[Event], *, after: Mapping[str, int]) -> dict[str, int]:
        """A request that breaks off may have written some of its rows."""

        def some() -> None:
            written = [event for event in events if self._world.random.random() < 0.5]
            MemoryEvents.put(self, written, after=after)

        return self._met(lambda: MemoryEvents.put(self, events, after=after), some)

    def append(self, page: FeedPage) -> bool:
        return self._met(lambda: MemoryEvents.append(self, page), lambda: None)

    def pages(self, tenant: str, **asked: Any) -> list[FeedPage]:
        return self._met(lambda: MemoryEvents.pages(self, tenant, **asked), lambda: None)

    def _met(self, call: Callable[[], Any], in_part: Callable[[], None]) -> Any:
        world = self._world
        if world.is_reader():
            return call()
        world.park()
        fault = world.fault()
        match fault:
            case "crash before":
                raise Crash
            case "unavailable":
                raise Unavailable
            case "in part":
                in_part()
                raise Unavailable
        answer = call()
        world.park()
        match fault:
            case "crash after":
                raise Crash
            case "lost and tried again":
                return call()
            case "lost":
                raise Unavailable
        return answer


@dataclass(slots=True)
class _Shard:
    records: list[Change]
    at: int = 0
    worker: greenlet | None = None
    batch: list[Change] = field(default_factory=list)
    recorder: Recorder | None = None

    @property
    def is_done(self) -> bool:
        return self.worker is None and self.at == len(self.records)


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.steps = 0
        self.reach: dict[str, int] = {}
        self.store = _Store(self)
        self._hub = greenlet.getcurrent()
        self._reading = False
        self._zombies: list[greenlet] = []
        self._failed: dict[greenlet, set[str]] = {}
        self._versions: dict[str, tuple[str, int]] = {}
        self.shards = [_Shard(records=each) for each in self._streams()]
        self._seen: list[Event] = []
        self._cursor: str | None = None

    def run(self) -> None:
        while not all(shard.is_done for shard in self.shards) or self._zombies:
            self.steps += 1
            if self.steps > STEPS_MAX:
                raise Broken("I22: the streams are never recorded to their end")
            self._step()
        self._follow(to_end=True)
        self._check()

    def park(self) -> None:
        self._hub.switch()

    def is_reader(self) -> bool:
        return self._reading

    def fault(self) -> str:
        """Draws the fault of the next call; none in the last phase."""
        if self.steps > FAULTY_STEPS or self.random.random() > 0.25:
            return ""
        chosen = self.random.choice(
            ["crash before", "crash after", "unavailable", "in part", "lost", "lost and tried again"]
        )
        self.reach[chosen] = self.reach.get(chosen, 0) + 1
        return chosen

    def _streams(self) -> list[list[Change]]:
        shards: list[list[Change]] = [[] for _ in range(SHARDS)]
        waiting = []
        for number in range(PAYMENTS):
            tenant = TENANTS[0] if number < PAYMENTS - 1 else TENANTS[1]
            versions = self.random.randint(1, VERSIONS_MAX)
            self._versions[f"pay_{number}"] = tenant, versions
            waiting.append([(number, tenant, version) for version in range(1, versions + 1)])
        count = 0
        while waiting:
            payment = self.random.choice(waiting)
            number, tenant, version = payment.pop(0)
            count += 1
            shards[number % SHARDS].append(
                Change(
                    table="payments",
                    number=f"{count:06d}",
                    keys={"id": {"S": f"pay_{number}"}},
                    before={},
                    after={"tenant": {"S": tenant}, "version": {"N": str(version)}},
                )
            )
            waiting = [each for each in waiting if each]
        return shards

    def _step(self) -> None:
        if self.random.random() < 0.08:
            self._follow()
        if self._zombies and self.random.random() < 0.3:
            self._go_on(self.random.choice(self._zombies), None)
            return
        shard = self.random.choice(self.shards)
        if shard.worker is None:
            self._begin(shard)
        elif self.steps <= FAULTY_STEPS and self.random.random() < 0.03:
            self._give_up(shard)
        else:
            self._go_on(shard.worker, shard)

    def _begin(self, shard: _Shard) -> None:
        """Begins a batch. Some records come twice."""
        if self.steps <= FAULTY_STEPS and shard.at and self.random.random() < 0.1:
            shard.at -= min(shard.at, self.random.randint(1, 3))
            self._reached("doubled")
        if shard.at == len(shard.records):
            return
        if shard.recorder is None or self.random.random() < 0.2:
            shard.recorder = Recorder(
                events=self.store,
                readers={"payments": _event_of},
                notify=lambda tenant, events: None,
                bury=lambda tenant, ids: True,
                clock=_Clock(self),
            )
        shard.batch = shard.records[shard.at : shard.at + self.random.randint(1, 5)]
        recorder, batch = shard.recorder, shard.batch
        shard.worker = greenlet(lambda: recorder.record(batch).failed, parent=self._hub)

    def _give_up(self, shard: _Shard) -> None:
        """The worker goes on as one that nobody waits for; its batch goes to another copy of the function."""
        assert shard.worker is not None
        self._reached("given up")
        self._zombies.append(shard.worker)
        shard.worker, shard.recorder = None, None

    def _go_on(self, worker: greenlet, shard: _Shard | None) -> None:
        failed: set[str] | None = None
        try:
            answer = worker.switch()
            failed = answer if worker.dead else None
        except Crash:
            self._reached("crashed")
        if not worker.dead:
            return
        if shard is None:
            self._zombies.remove(worker)
            return
        shard.worker = None
        if failed is None:
            shard.recorder = None
            return
        numbers = [change.number for change in shard.batch]
        taken = next((place for place, number in enumerate(numbers) if number in failed), len(numbers))
        shard.at += taken

    def _follow(self, *, to_end: bool = False) -> None:
        self._reading = True
        while True:
            asked = {"limit": str(self.random.randint(1, 5))} | (
                {"cursor": self._cursor} if self._cursor else {}
            )
            reader = _Reader()
            seats = WaitingSeats(flow=MemoryFlow(), clock=reader, total=1)
            shown = page(FeedQuery.of(TENANTS[0], asked), self.store, clock=reader, seats=seats, id="r")
            self._seen += shown.events
            self._cursor = shown.follow or self._cursor
            if not to_end or not shown.events:
                break
        self._reading = False

    def _check(self) -> None:
        self._reading = True
        for tenant in TENANTS:
            pages = self.store.pages(tenant, limit=10_000)
            if [each.number for each in pages] != list(range(1, len(pages) + 1)):
                raise Broken("I20: the pages of a feed have a gap")
            if [each.recorded_at for each in pages] != sorted(each.recorded_at for each in pages):
                raise Broken("I20: a page is recorded before the one before it")
            listed = [entry for each in pages for entry in each.entries]
            expected = [
                FeedEntry(type="payment.changed", id=id, sequence=sequence)
                for id, (owner, versions) in self._versions.items()
                if owner == tenant
                for sequence in range(1, versions + 1)
            ]
            if sorted(listed, key=str) != sorted(expected, key=str):
                raise Broken(f"I20: {len(expected)} versions are {len(listed)} entries of a feed")
            if len(self.store.listed(tenant, expected)) != len(expected):
                raise Broken("I20: an entry of a feed has no event")
        seen = [(event.subject.id, event.sequence) for event in self._seen]
        for id, (owner, versions) in self._versions.items():
            told = [sequence for name, sequence in seen if name == id]
            if owner == TENANTS[0] and told != list(range(1, versions + 1)):
                raise Broken(f"I23: of {versions} events of {id} a follower saw {told}")

    def _reached(self, what: str) -> None:
        self.reach[what] = self.reach.get(what, 0) + 1


class _Reader(_Clock):
    def __init__(self) -> None:
        pass

    def now(self) -> Any:
        return START


def _event_of(change: Change) -> Event:
    tenant, id = change.after["tenant"]["S"], change.keys["id"]["S"]
    return Event(
        subject=Subject(tenant=tenant, kind="payment", id=id),
        type="payment.changed",
        sequence=int(change.after["version"]["N"]),
        occurred_at=START,
    )


def recorded(seed: int) -> Result:
    world = World(seed)
    try:
        world.run()
    except Broken as broken:
        return Result(seed=seed, broken=str(broken), reach=world.reach)
    return Result(seed=seed, broken=None, reach=world.reach)
