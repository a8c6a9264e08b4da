"""Deliveries of recorded events: one for each event and each subscription that wants it, whatever comes twice."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from functions.record import items
from functions.record.changes import Change
from postdate.domain.errors import Unavailable
from postdate.domain.event import Event, Subject
from postdate.domain.slots import item_id
from postdate.domain.subscription import Filter, State, Subscription, delivery_id
from postdate.domain.task import Destination, Task
from postdate.stores import task_row
from postdate.stores.events_memory import MemoryEvents
from postdate.stores.subscriptions import MemorySubscriptions
from postdate.stores.tasks import Written
from postdate.use_cases.notifying import Notifier
from tests.unit.doubles import (
    PLAN,
    SECOND,
    START,
    ManualClock,
    ScriptedQueue,
    ScriptedTasks,
    unique,
)
from tests.unit.record.test_record import ScriptedEvents, change, payment
from tests.unit.record.test_record import World as RecordedWorld

PAYMENT = item_id("pay", PLAN.slot(START, unique(1)), unique(1))
HOOK = Destination(type="webhook", address="https://shop.example/hook")


@dataclass(slots=True)
class World:
    clock: ManualClock
    events: MemoryEvents
    subscriptions: MemorySubscriptions
    tasks: ScriptedTasks
    queue: ScriptedQueue

    def notify(self, *events: Event) -> None:
        self.events.put(events, after={event.subject.tenant: 0 for event in events})
        notifier = Notifier(
            events=self.events,
            subscriptions=self.subscriptions,
            tasks=self.tasks,
            queue=self.queue,
            shards=PLAN,
            clock=self.clock,
        )
        notifier.notify("demo", events)

    def subscribe(self, id: str = "sub_1", **fields: Any) -> Subscription:
        given = {"types": ("payment.*",), "destination": HOOK} | fields
        made = Subscription(id=id, tenant="demo", created_at=START, changed_at=START, **given)
        assert self.subscriptions.add(made)
        return made

    def deliveries(self, id: str = "sub_1") -> list[Task]:
        found = self.tasks.get_many(self.tasks.runs_listed("demo", id, after="", limit=100))
        return sorted(found.values(), key=lambda task: (task.planned_at, task.payload.key or ""))

    def told(self, id: str = "sub_1") -> list[str | None]:
        return [task.payload.key for task in self.deliveries(id)]


@pytest.fixture
def world() -> World:
    clock = ManualClock()
    return World(clock, MemoryEvents(), MemorySubscriptions(), ScriptedTasks(), ScriptedQueue(clock))


def event(sequence: int = 1, type: str = "payment.changed", **fields: Any) -> Event:
    given = {"accounts": ("alice", "bob"), "data": {"after": {"metadata": {"shop": "north"}}}} | fields
    return Event(
        subject=Subject(tenant="demo", kind="payment", id=PAYMENT),
        type=type,
        sequence=sequence,
        occurred_at=START + sequence * SECOND,
        recorded_at=START + sequence * SECOND,
        **given,
    )


def ids(events: Iterable[Event]) -> list[str]:
    return [each.id for each in events]


def test_an_event_is_delivered_to_each_subscription_that_wants_it(world: World) -> None:
    world.subscribe("sub_1", types=("payment.completed",))
    world.subscribe("sub_2", types=("*",))
    world.subscribe("sub_3", types=("task.*",))
    world.subscribe("sub_4", types=("payment.*",), state=State.PAUSED)
    done = event(2, "payment.completed")
    world.notify(event(1), done)
    assert world.told("sub_1") == [done.id]
    assert world.told("sub_2") == ids([event(1), done])
    assert world.told("sub_3") == world.told("sub_4") == []
    assert {task.destination for task in world.deliveries("sub_2")} == {HOOK}
    assert {task.payload.text for task in world.deliveries("sub_2")} == {None}


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        (Filter(account_id="bob"), True),
        (Filter(account_id="carol"), False),
        (Filter(metadata=(("shop", "north"),)), True),
        (Filter(metadata=(("shop", "north"), ("till", "1"))), False),
        (Filter(metadata=(("shop", "south"),)), False),
        (Filter(tag="rent"), False),
    ],
)
def test_a_filter_admits_events_that_fit_all_of_it(world: World, wanted: Filter, fits: bool) -> None:
    world.subscribe(filter=wanted)
    world.notify(event())
    assert bool(world.told()) is fits


def test_a_tag_is_one_of_the_subjects(world: World) -> None:
    world.subscribe(filter=Filter(tag="rent"))
    world.notify(event(data={"after": {"tags": ["flat", "rent"]}}))
    assert len(world.told()) == 1


def test_an_event_that_is_recorded_twice_is_delivered_once(world: World) -> None:
    world.subscribe()
    world.notify(event())
    (first,) = world.deliveries()
    world.clock.move(timedelta(hours=3))
    world.notify(event())
    assert world.deliveries() == [first]


def test_a_crash_between_the_rows_and_their_calls_is_made_good_by_the_record_that_comes_again(
    world: World,
) -> None:
    world.subscribe()
    world.queue.refuses = 1
    with pytest.raises(Unavailable):
        world.notify(event())
    assert world.queue.take() == []
    world.notify(event())
    assert [due.id for packet, _ in world.queue.take() for due in packet.dues] == [
        task.id for task in world.deliveries()
    ]


def test_a_delivery_that_cannot_be_written_makes_its_record_come_again(world: World) -> None:
    world.subscribe()
    world.subscribe("sub_2")
    id = delivery_id(event(), world.subscriptions.all("demo")[0], PLAN)
    world.tasks.unavailable[id] = 1
    with pytest.raises(Unavailable):
        world.notify(event())
    world.notify(event())
    assert world.told("sub_1") == world.told("sub_2") == [event().id]


def test_deliveries_of_one_subject_follow_the_one_that_was_told_before(world: World) -> None:
    world.subscribe(types=("payment.scheduled", "payment.completed"))
    first, between, last = event(1, "payment.scheduled"), event(2), event(3, "payment.completed")
    world.notify(first, between)
    world.notify(last)
    told, then = world.deliveries()
    assert told.recurs is not None
    assert told.recurs.before == ()
    assert then.recurs is not None
    assert then.recurs.before == (told.id,)


def test_rows_of_one_batch_are_written_in_the_order_of_their_subject(world: World) -> None:
    """A worker takes a missing row for one that is over."""
    world.subscribe()
    written: list[list[str | None]] = []
    add = world.tasks.add

    def noted(tasks: Any) -> list[Written]:
        written.append([task.payload.key for task in tasks])
        return add(tasks)

    world.tasks.add = noted  # type: ignore[method-assign]
    world.notify(event(2), event(1), event(3))
    assert written == [[event(number).id] for number in (1, 2, 3)]


def test_a_subscription_without_an_order_waits_for_nothing(world: World) -> None:
    world.subscribe(ordered=False)
    world.notify(event(1), event(2))
    assert [task.recurs and task.recurs.before for task in world.deliveries()] == [(), ()]


def test_a_delivery_is_as_deep_as_the_task_whose_event_it_tells(world: World) -> None:
    world.subscribe()
    world.notify(event(depth=3))
    assert [task.depth for task in world.deliveries()] == [3]


def test_a_delivery_makes_no_event(world: World) -> None:
    """Otherwise a subscription to all events would feed itself."""
    world.subscribe(types=("*",))
    world.notify(event())
    (task,) = world.deliveries()
    row = task_row.attributes_of(task, listing_shards=2, retention=timedelta(days=35))
    keys = {name: row[name] for name in ("slot", "id")}
    assert items.event_of(Change(table="items", number="1", keys=keys, before={}, after=row)) is None


def paused(world: World, at: int) -> None:
    """Pauses the subscription so many seconds after the start."""
    (known,) = world.subscriptions.all("demo")
    since = START + at * SECOND
    assert world.subscriptions.change(replace(known, version=2, state=State.PAUSED, paused_at=since))


def test_an_event_from_before_a_pause_is_delivered_though_its_worker_comes_during_the_pause(
    world: World,
) -> None:
    """The replay after the pause begins a minute before it."""
    world.subscribe()
    paused(world, at=100)
    before, during = event(2), event(101)
    world.notify(before, during)
    assert world.told() == [before.id]


@pytest.mark.parametrize("recorded_at", range(90, 110))
def test_each_event_around_a_pause_is_delivered_or_replayed(world: World, recorded_at: int) -> None:
    """Also if the page of an event was written by a clock that is 29 seconds behind."""
    world.subscribe()
    paused(world, at=129)
    world.notify(event(recorded_at))
    (known,) = world.subscriptions.all("demo")
    since = replace(known, missed_since=known.paused_at).replayed_since
    assert since is not None
    assert world.told() or START + (recorded_at - 29) * SECOND >= since


def test_a_recorder_that_was_repeated_compares_a_pause_with_the_first_recording() -> None:
    world = RecordedWorld(ScriptedEvents(), ManualClock())
    told: list[list[Event]] = []
    worker = world.worker(lambda tenant, events: told.append(list(events)))
    for _ in range(2):
        assert not worker.record([change(None, payment())]).failed
        world.clock.move(timedelta(hours=1))
    assert [each.recorded_at for (each,) in told] == [START, START]


def test_an_event_behind_a_pause_waits_for_the_events_of_the_pause(world: World) -> None:
    """Though the replay has not come to them: a worker takes a missing row for one that is over."""
    made = world.subscribe(missed_since=START + 162 * SECOND)
    # One of them is of a type that is not wanted.
    earlier = [event(1), event(101), event(102), event(103, "task.dead"), event(104)]
    world.events.put(earlier, after={"demo": 0})
    world.notify(event(105))
    assert world.told() == [event(102).id, event(104).id, event(105).id]
    ids = [delivery_id(event(number), made, PLAN) for number in (101, 102, 104)]
    assert [each.recurs and each.recurs.before for each in world.deliveries()] == [(id,) for id in ids]


def test_the_first_event_of_a_pause_waits_for_the_last_one_before_it(world: World) -> None:
    """Also if that one is too far back to be seen from the event behind the pause."""
    made = world.subscribe(missed_since=START + 121 * SECOND)
    world.events.put([event(number) for number in range(1, 102)], after={"demo": 0})
    world.notify(event(161))
    first, *_ = world.deliveries()
    assert first.payload.key == event(61).id
    assert first.recurs is not None
    assert first.recurs.before == (delivery_id(event(60), made, PLAN),)


def test_a_subscription_without_an_order_gets_the_events_of_a_pause_by_the_replay_alone(world: World) -> None:
    world.subscribe(ordered=False, missed_since=START)
    world.events.put([event(1)], after={"demo": 0})
    world.notify(event(2))
    assert world.told() == [event(2).id]


def test_the_events_of_a_pause_that_have_a_delivery_are_not_written_again(world: World) -> None:
    world.subscribe(missed_since=START + 100 * SECOND)
    world.events.put([event(number) for number in range(101, 105)], after={"demo": 0})
    world.notify(event(105))
    before = world.deliveries()
    written: list[int] = []
    world.tasks.add, add = lambda tasks: (written.append(len(tasks)), add(tasks))[1], world.tasks.add  # type: ignore[method-assign]
    world.notify(event(106))
    assert written == [1]
    assert world.deliveries()[: len(before)] == before


def test_events_whose_deliveries_may_have_expired_are_not_delivered_again(world: World) -> None:
    """The mark of a pause stays if no replay of the whole pause came to its end."""
    world.subscribe(missed_since=START)
    world.events.put([event(1)], after={"demo": 0})
    world.clock.move(timedelta(days=36))
    world.notify(event(2))
    assert world.told() == [event(2).id]
