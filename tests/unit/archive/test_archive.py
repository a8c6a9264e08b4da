"""The archiver over stores in memory: each event in one named object, whatever dies, comes twice or is changed."""

import gzip
import json
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from cli.archive import read, verify
from cli.failure import Failure
from functions.archive.archive import Archiver
from postdate.domain.errors import Unavailable
from postdate.domain.event import Actor, Event, Subject
from postdate.domain.event_body import body_of
from postdate.stores.data_keys_memory import MemoryDataKeys
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.vault import Vault
from tests.unit.doubles import START, ManualClock, Scripted, ScriptedArchive

DAY = timedelta(days=1)
# Short ones with their quotes: sealed texts have any three letters somewhere.
NAMES = ('"alice', '"bob', "Rent of Mrs Miller", "customer-7", "hook.example.com", '"acme', "/acme")


class ScriptedEvents(Scripted, MemoryEvents):
    def listed(self, tenant: str, entries: Any) -> dict[FeedEntry, Event]:
        self._happens("listed")
        return super().listed(tenant, entries)


class Death(BaseException):
    """The worker ends here."""


@dataclass(slots=True)
class World:
    events: ScriptedEvents = field(default_factory=ScriptedEvents)
    archive: ScriptedArchive = field(default_factory=ScriptedArchive)
    data_keys: MemoryDataKeys = field(default_factory=MemoryDataKeys)
    clock: ManualClock = field(default_factory=ManualClock)
    recorded: list[Event] = field(default_factory=list)

    @property
    def vault(self) -> Vault:
        return Vault(data_keys=self.data_keys, clock=self.clock)

    def archiver(self, *, events_max: int = 1000) -> Archiver:
        """Makes an archiver, as a copy of the function that has just started."""
        return Archiver(
            events=self.events,
            archive=self.archive,
            vault=self.vault,
            clock=self.clock,
            events_max=events_max,
        )

    def run(self, *, today: bool = False, events_max: int = 1000) -> int:
        return self.archiver(events_max=events_max).run("acme", has_time=lambda: True, today=today).events

    def page(self, *events: Event, at: datetime = START, log: str = "1a") -> None:
        number = len(self.events.pages("acme", limit=10_000)) + 1
        events = tuple(replace(each, recorded_at=at) for each in events)
        self.events.put(events, after={"acme": number - 1})
        entries = tuple(FeedEntry.of(each) for each in events)
        self.events.append(FeedPage(tenant="acme", log=log, number=number, recorded_at=at, entries=entries))
        self.recorded += events

    def archived(self) -> list[dict[str, Any]]:
        return list(read(self.archive, self.vault, "acme"))


@pytest.fixture
def world() -> World:
    return World()


def payment(number: int, sequence: int = 1) -> Event:
    after = {
        "status": "PENDING",
        "amount": 100,
        "scheduled_time": "2026-11-18T10:05:12.000Z",
        "from_account_id": "alice",
        "description": "Rent of Mrs Miller",
        "metadata": {"customer-7": "x"},
    }
    return Event(
        subject=Subject(tenant="acme", kind="payment", id=f"pay_0wgzfs02000000000000000{number}"),
        type="payment.scheduled",
        sequence=sequence,
        occurred_at=START,
        actor=Actor(type="key", id="customer-7"),
        accounts=("alice", "bob"),
        data={"after": after, "reason": "asked by alice", "before": {"amount": 7, "description": "bob"}},
    )


def account(sequence: int = 1) -> Event:
    return Event(
        subject=Subject(tenant="acme", kind="account", id="alice"),
        type="account.deposited",
        sequence=sequence,
        occurred_at=START,
        actor=Actor(type="function", id="settle"),
        accounts=("alice",),
        data={"after": {"status": "ACTIVE", "balance": 700, "available": 700, "reserved": 0}, "amount": 700},
    )


def task(number: int = 1) -> Event:
    return Event(
        subject=Subject(tenant="acme", kind="task", id=f"task_0wgzfs0200000000000000{number}0"),
        type="task.registered",
        sequence=1,
        occurred_at=START,
        data={"after": {"target": {"type": "webhook", "address": "hook.example.com"}, "tags": ["alice"]}},
    )


def yesterday(world: World) -> None:
    world.page(payment(1), account())
    world.page(payment(2), task())
    world.clock.sleep_until(START + DAY)


def test_a_days_events_are_one_object_for_each_kind_and_are_read_back_as_they_were_told(world: World) -> None:
    yesterday(world)
    assert world.run() == 4
    found = {event["event_id"]: event for event in world.archived()}
    assert found == {event.id: body_of(event) for event in world.recorded}
    objects = [key.rpartition("/")[0] for key in world.archive.keys("events/")]
    assert objects == [f"events/day=2026-11-18/kind={kind}" for kind in ("account", "payment", "task")]
    assert verify(world.archive).told() | {"bytes": 0} == {
        "owners": 1,
        "manifests": 1,
        "objects": 3,
        "events": 4,
        "bytes": 0,
        "unnamed": 0,
        "payments": {"objects": 0, "payments": 0, "copied_again": 0, "bytes": 0, "problems": []},
        "problems": [],
        "ok": True,
    }


def test_no_name_is_readable_and_every_amount_is(world: World) -> None:
    yesterday(world)
    world.run()
    texts = [*world.archive.objects]
    for key, content in world.archive.objects.items():
        texts.append((gzip.decompress(content) if key.endswith(".gz") else content).decode())
    whole = "\n".join(texts)
    assert [name for name in NAMES if name in whole] == []
    lines = [json.loads(line) for line in whole.splitlines() if line.startswith('{"tenant"')]
    assert len(lines) == 4
    balances = [line["data"]["after"]["balance"] for line in lines if line["type"] == "account.deposited"]
    amounts = [line["data"]["after"]["amount"] for line in lines if line["type"] == "payment.scheduled"]
    assert (balances, amounts) == ([700], [100, 100])
    accounts = {tuple(line["subject"]["account_ids"]) for line in lines if line["type"].startswith("payment")}
    assert len(accounts) == 1, "equal names stay equal"


def test_without_its_key_nobody_reads_a_tenants_names(world: World) -> None:
    yesterday(world)
    world.run()
    assert list(world.data_keys.keys) == ["archive/acme"]
    world.data_keys.keys.clear()
    with pytest.raises(Failure):
        world.archived()
    assert verify(world.archive).problems == []


def test_the_day_that_runs_is_left_alone_unless_somebody_asks(world: World) -> None:
    world.page(payment(1))
    assert world.run() == 0
    assert world.run(today=True) == 1
    world.page(payment(2))
    world.clock.sleep_until(START + DAY)
    assert world.run() == 1
    assert verify(world.archive).problems == []
    assert [event["event_id"] for event in world.archived()] == [event.id for event in world.recorded]


def test_each_day_has_manifests_of_its_own_and_a_busy_day_has_several(world: World) -> None:
    for number in range(1, 4):
        world.page(payment(number))
    world.page(payment(4), at=START + DAY)
    world.page(payment(5), at=START + 2 * DAY)
    world.clock.sleep_until(START + 2 * DAY)
    assert world.run(events_max=2) == 4
    days = [key.split("/")[2] for key in world.archive.keys("manifests/")]
    assert days == ["2026-11-18", "2026-11-18", "2026-11-19"]
    assert verify(world.archive).events == 4


@pytest.mark.parametrize("dies_at", range(5))
def test_a_run_that_dies_is_repeated_without_a_trace(world: World, dies_at: int) -> None:
    """Three objects and a manifest are written; the fifth place is none."""
    yesterday(world)

    def die() -> None:
        raise Death

    if dies_at < 4:
        world.archive.before["put"] += [*[lambda: None] * dies_at, die]
        with pytest.raises(Death):
            world.run()
    world.run()
    again = dict(world.archive.objects)
    assert (len(again), world.run(), again == world.archive.objects) == (4, 0, True)
    assert (verify(world.archive).problems, verify(world.archive).unnamed) == ([], 0)
    assert len(world.archived()) == 4


def test_two_runs_at_once_archive_each_event_once(world: World) -> None:
    yesterday(world)
    second = world.archiver()
    world.events.before["listed"].append(lambda: second.run("acme", has_time=lambda: True))
    assert world.run() == 0
    assert verify(world.archive).told()["events"] == 4
    assert len(world.archived()) == 4


def test_time_that_runs_out_leaves_the_rest_for_the_next_call(world: World) -> None:
    for number in range(1, 4):
        world.page(payment(number), at=START + number * DAY)
    world.clock.sleep_until(START + 9 * DAY)
    left = [True, False]
    first = world.archiver().run("acme", has_time=lambda: left.pop(0))
    assert (first.events, first.is_done) == (1, False)
    assert world.run() == 2


def test_a_feed_that_began_anew_is_archived_from_its_first_page(world: World) -> None:
    yesterday(world)
    world.run()
    world.events._pages.clear()
    world.page(payment(3), at=START + DAY, log="2b")
    world.clock.sleep_until(START + 2 * DAY)
    assert world.run() == 1
    assert verify(world.archive).problems == []


def test_an_event_without_a_row_and_a_page_that_is_gone_are_told(world: World) -> None:
    yesterday(world)
    world.run()
    for number in (3, 4, 5):
        world.page(payment(number), at=START + DAY)
    del world.events._pages["acme", 3]
    gone = world.recorded[-1]
    del world.events._events[gone.subject, gone.sequence]
    world.clock.sleep_until(START + 2 * DAY)
    assert world.run() == 1
    problems = [each.partition(": ")[2] for each in verify(world.archive).problems]
    assert problems == ["begins at page 4, not at 3", "1 events that the feed lists had no row"]


def test_a_feed_that_cannot_be_read_is_archived_later(world: World) -> None:
    yesterday(world)

    def fail() -> None:
        raise Unavailable

    world.events.before["listed"].append(fail)
    with pytest.raises(Unavailable):
        world.run()
    assert world.run() == 4


def changed(world: World, key: str) -> None:
    lines = gzip.decompress(world.archive.objects[key]).replace(b'"amount":100', b'"amount":101')
    world.archive.objects[key] = gzip.compress(lines, mtime=0)


def removed(world: World, key: str) -> None:
    del world.archive.objects[key]


def cut(world: World, key: str) -> None:
    world.archive.objects[key] = world.archive.objects[key][:-1]


@pytest.mark.parametrize("harm", [changed, removed, cut])
def test_an_object_that_was_changed_or_removed_is_found(world: World, harm: Any) -> None:
    yesterday(world)
    world.run()
    (key,) = (key for key in world.archive.keys("events/") if "kind=payment" in key)
    harm(world, key)
    (problem,) = verify(world.archive).problems
    assert problem.startswith(key)


@pytest.mark.parametrize("harm", [removed, cut])
@pytest.mark.parametrize("place", [0, 1])
def test_a_manifest_that_was_changed_or_removed_is_found_by_the_next_one(
    world: World, harm: Any, place: int
) -> None:
    for number in range(1, 4):
        world.page(payment(number), at=START + number * DAY)
    world.clock.sleep_until(START + 9 * DAY)
    world.run()
    harm(world, world.archive.keys("manifests/")[place])
    assert verify(world.archive).problems != []


def test_a_manifest_that_is_rewritten_in_the_same_form_is_found_by_its_hash(world: World) -> None:
    for number in range(1, 4):
        world.page(payment(number), at=START + number * DAY)
    world.clock.sleep_until(START + 9 * DAY)
    world.run()
    key = world.archive.keys("manifests/")[0]
    text = world.archive.objects[key]
    world.archive.objects[key] = text.replace(b'"lost_pages":0', b'"lost_pages":1')
    (problem,) = verify(world.archive).problems
    assert "does not follow from the manifest before it" in problem
