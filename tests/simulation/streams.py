"""The streams of the tables, the recorder that follows them, and a follower of each tenant's feed.

The records of one row are in one shard, in their order. A shard waits for the answer of the recorder: a batch whose
worker died comes again, and one that is given up goes to another worker while the first goes on.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from postdate.domain.event_body import body_of
from postdate.stores import event_row
from tests import tables
from tests.simulation import owning, quick
from tests.simulation.engine import Change, Row
from tests.simulation.hub import SECOND, Actor, Crash, Hub
from tests.simulation.mix import Mix
from tests.simulation.rows import ITEM_TABLES, number, text
from tests.simulation.seen import Broken, Seen

if TYPE_CHECKING:
    from tests.simulation.bus import Bus
    from tests.simulation.clients import Clients
    from tests.simulation.workers import Functions

SHARDS: Final = 2
_BATCH: Final = (1, 3, 10, 100)
_PAUSE_MAX_SECONDS: Final = 60
# Steps of a backfill are no subject of events.
_SUBJECTS: Final = ("task_", "run_", "pay_")
_LOOKS_EVERY_SECONDS: Final = 30
_EVENTS: Final = "/api/v1/events"
_SERVICES: Final = "/api/v1/ops/events"


@dataclass(kw_only=True, slots=True, eq=False)
class Shard:
    """`at` is the place of the first record that has not been recorded."""

    records: list[dict[str, Any]] = field(default_factory=list)
    at: int = 0
    waiting: Actor | None = None


@dataclass(kw_only=True, slots=True, eq=False)
class Streams:
    """`versions` are those of each subject, `told` the events that each follower was shown, in their order. Owners and
    switches have streams, and there is a bus, in runs that have requests about owners."""

    hub: Hub
    functions: "Functions"
    clients: "Clients"
    seen: Seen
    mix: Callable[[], Mix]
    shards: list[Shard] = field(default_factory=lambda: [Shard() for _ in range(SHARDS)])
    versions: dict[tuple[str, str], int] = field(default_factory=dict)
    told: dict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))
    bus: "Bus | None" = None
    _cursors: dict[str, str] = field(default_factory=dict)

    def start(self, tenants: Sequence[str]) -> None:
        for shard in self.shards:
            self._worker(shard)
        owners = (*tenants, owning.SERVICE) if self.seen.began.owners else tenants
        for tenant in owners:
            actor = Actor(name=f"follower of {tenant}", hub=self.hub, tenant=tenant)
            self.hub.spawn(actor, lambda actor=actor: self._following(actor))

    def changed(self, changes: Sequence[Change]) -> None:
        """Notes what the streams bring later."""
        for change in changes:
            row = change.after
            if row is None or not self._is_followed(change):
                continue
            shard = self.shards[crc32("#".join(change.key).encode()) % SHARDS]
            keys = {name: row[name] for name in tables.KEYS[change.table]}
            images = {"NewImage": quick.copied(row)} | (
                {"OldImage": quick.copied(change.before)} if change.before else {}
            )
            place = f"{len(shard.records):012d}"
            shard.records.append(
                {
                    "eventID": place,
                    "eventSourceARN": f"arn:aws:dynamodb:us-east-1:000000000000:table/sim-{change.table}/stream/1",
                    "dynamodb": {"SequenceNumber": place, "Keys": keys, **images},
                }
            )
            if change.table not in ITEM_TABLES:
                self._count_owners(change.table, row)
            elif "points_to" not in row and change.key[1].startswith(_SUBJECTS):
                self.versions[str(text(row, "tenant")), change.key[1]] = number(row, "version")
            if shard.waiting is not None:
                waiting, shard.waiting = shard.waiting, None
                self.hub.wake(waiting)

    def _is_followed(self, change: Change) -> bool:
        """The stream of accounts, which each payment changes twice, passes rows with a note alone."""
        if change.table == "accounts" and "note" not in (change.after or {}):
            return False
        return change.table in ITEM_TABLES or bool(self.seen.began.owners and change.table in owning.TABLES)

    def _count_owners(self, table: str, row: Row) -> None:
        for owner, name, count in owning.changed_in(table, row):
            if count:
                self.versions[owner, name] = count

    @property
    def are_recorded(self) -> bool:
        return all(shard.at == len(shard.records) for shard in self.shards)

    @property
    def is_over(self) -> bool:
        """True if all records were recorded, and no follower has anything left to read."""
        return self.are_recorded and all(
            len(self.told[tenant]) >= self._wanted(tenant) for tenant, _ in self.versions
        )

    def _wanted(self, tenant: str) -> int:
        return sum(version for (owner, _), version in self.versions.items() if owner == tenant)

    def _copy(self) -> tuple[str, Any]:
        name, wired = self.functions.copy("record")
        if self.bus is not None:
            self.bus.follow(wired.recorder)
        return name, wired

    def _worker(self, shard: Shard) -> None:
        name, wired = self._copy()
        actor = Actor(name=name, hub=self.hub, wired=wired)
        self.hub.spawn(actor, lambda: self._recording(actor, shard))

    def _recording(self, actor: Actor, shard: Shard) -> None:
        draws, failures = self.hub.draws, 0
        while True:
            if shard.at == len(shard.records):
                shard.waiting = actor
                self.hub.park(None)
                continue
            if shard.at and draws.random() < self.mix().duplicates:
                shard.at -= min(shard.at, draws.randrange(1, 4))
                self.seen.reach["records come again"] += 1
            batch = shard.records[shard.at : shard.at + draws.choice(_BATCH)]
            if draws.random() < self.mix().duplicates:
                self._give_up(batch)
            taken = self._taken(actor, batch)
            shard.at += taken
            failures = 0 if taken == len(batch) else failures + 1
            if failures:
                self.hub.park(int(draws.uniform(0, min(_PAUSE_MAX_SECONDS, 2**failures)) * SECOND))

    def _taken(self, actor: Actor, batch: Sequence[dict[str, Any]]) -> int:
        """Gives the records to a worker, and returns how many need not come again."""
        actor.items_asked = len(batch)
        event = {"Records": [quick.copied(record) for record in batch]}
        try:
            answer = self.functions.invoke(actor, "record", event)
        except Crash:
            self.seen.reach["record died"] += 1
            actor.wired.recorder._ends.clear()
            return 0
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        numbers = [record["dynamodb"]["SequenceNumber"] for record in batch]
        return next((place for place, each in enumerate(numbers) if each in failed), len(numbers))

    def _give_up(self, batch: Sequence[dict[str, Any]]) -> None:
        """A worker that nobody waits for any more has the batch as well."""
        name, wired = self._copy()
        actor = Actor(name=name, hub=self.hub, wired=wired)
        self.seen.reach["batch of records given up"] += 1
        delay = int(self.hub.draws.uniform(0, 5) * SECOND)
        self.hub.spawn(actor, lambda: self._taken(actor, batch) and None, delay=delay)

    def _following(self, actor: Actor) -> None:
        tenant, draws = str(actor.tenant), self.hub.draws
        while True:
            self.hub.park(int(draws.expovariate(1) * _LOOKS_EVERY_SECONDS * SECOND))
            goes_on = True
            while goes_on:
                cursor = self._cursors.get(tenant)
                asked = f"?limit={draws.choice((1, 5, 100))}" + (f"&cursor={cursor}" if cursor else "")
                path = _SERVICES if tenant == owning.SERVICE else _EVENTS
                answer = self.clients.ask(actor, "GET", path + asked)
                if answer.http != 200:
                    break
                for event in answer.body["events"]:
                    name = owning.name_of(event["subject"]["kind"], event["subject"]["id"])
                    self.told[tenant].append((name, event["sequence"]))
                self._cursors[tenant] = answer.body["follow_cursor"] or cursor
                goes_on = bool(answer.body["events"])


def i20_each_version_is_one_event(seen: Seen, streams: Streams) -> None:
    """Each version of a subject has its row, and one entry in its tenant's feed, whose pages have no gap."""
    listed: dict[tuple[str, str], list[int]] = defaultdict(list)
    for tenant in sorted({tenant for tenant, _ in streams.versions}):
        pages = sorted(seen.engine.rows_of("events", f"{tenant}#feed"), key=lambda row: row["sequence"]["S"])
        if [int(page["sequence"]["S"]) for page in pages] != list(range(1, len(pages) + 1)):
            raise Broken(f"I20: the pages of {tenant}'s feed have a gap")
        recorded = [number(page, "recorded") for page in pages]
        if recorded != sorted(recorded):
            raise Broken(f"I20: a page of {tenant}'s feed is recorded before the one before it")
        for page in pages:
            for entry in page["entries"]["L"]:
                sequence, type, id = entry["S"].split(" ", 2)
                kind = type.partition(".")[0]
                listed[tenant, owning.name_of(kind, id)].append(int(sequence))
                subject = f"{tenant}#{kind}#{id}"
                if seen.engine.row("events", subject, f"{int(sequence):012d}") is None:
                    raise Broken(f"I20: {tenant}'s feed names version {sequence} of {id}, which has no row")
    for (tenant, id), version in streams.versions.items():
        if sorted(listed[tenant, id]) != list(range(1, version + 1)):
            raise Broken(f"I20: {id} has {version} versions, and the feed lists {sorted(listed[tenant, id])}")
        seen.reach["events recorded"] += version


def i23_a_follower_misses_none(seen: Seen, streams: Streams) -> None:
    """Each event of its tenant once, each subject's in their order."""
    told: dict[tuple[str, str], list[int]] = defaultdict(list)
    for tenant, events in streams.told.items():
        for id, sequence in events:
            told[tenant, id].append(sequence)
    for subject, version in streams.versions.items():
        if told[subject] != list(range(1, version + 1)):
            raise Broken(f"I23: {subject[1]} has {version} versions, and a follower saw {told[subject]}")


def i20_the_bus_has_each_event(seen: Seen, streams: Streams) -> None:
    """Once or more, each time as its row tells it and with its tenant; and nothing else."""
    if streams.bus is None:
        return
    wanted: dict[str, Any] = {}
    for row in seen.engine.rows("events"):
        if not row["subject"]["S"].endswith("#feed"):
            event = event_row.event_of(row)
            wanted[event.id] = {"tenant": event.subject.tenant, **body_of(event)}
    for id, told in wanted.items():
        seen.reach["events on the bus again"] += max(0, len(streams.bus.taken[id]) - 1)
        if not streams.bus.taken[id]:
            raise Broken(f"I20: {id} is recorded and never came to the bus")
        for detail in streams.bus.taken[id]:
            if detail != told:
                raise Broken(f"I20: the bus tells {detail}, and the row {told}")
    if more := sorted(streams.bus.taken.keys() - wanted.keys()):
        raise Broken(f"I20: the bus tells {more[0]}, which is not recorded")
    seen.reach["events on the bus"] += len(wanted)
    seen.reach["events that the bus refused"] += streams.bus.refused
