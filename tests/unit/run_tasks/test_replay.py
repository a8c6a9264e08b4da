"""Replays: what a subscription was not told is made good in steps, and what was told is not told again."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from functions.run_tasks import replay as replaying
from postdate.domain.event import Event, Subject
from postdate.domain.replay import Step, replay_id, task_of
from postdate.domain.slots import item_id
from postdate.domain.subscription import State, Subscription
from postdate.domain.task import Destination, Task
from postdate.domain.task import State as TaskState
from postdate.stores.events import FeedEntry, FeedPage
from postdate.stores.tasks import Written
from postdate.targets.base import Failed
from tests.unit.doubles import MINUTE, PLAN, START, message, unique
from tests.unit.run_tasks.conftest import Running

FINAL = Failed(reason="http 422", retry=False, http_status=422)


@pytest.fixture
def subscription(running: Running) -> Subscription:
    made = Subscription(
        id="sub_1",
        tenant="demo",
        destination=Destination(type="webhook", address="https://shop.example/hook"),
        types=("payment.completed",),
        secrets=("whsec_bmV3",),
        created_at=START - 10 * MINUTE,
        changed_at=START,
    )
    assert running.subscriptions.add(made)
    return made


def feed(running: Running, *numbers: int, type: str = "payment.completed") -> list[Event]:
    """A page for each event, a minute after the one before it."""
    events = [
        Event(
            subject=Subject(tenant="demo", kind="payment", id=item_id("pay", PLAN.slot(START, body), body)),
            type=type,
            sequence=1,
            occurred_at=START,
            recorded_at=START,
        )
        for body in map(unique, numbers)
    ]
    running.events.put(events, after={"demo": 0})
    for event in events:
        number = len(running.events.pages("demo", limit=10_000)) + 1
        page = FeedPage(
            tenant="demo",
            log="1a",
            number=number,
            recorded_at=START + number * MINUTE,
            entries=(FeedEntry.of(event),),
        )
        assert running.events.append(page)
    return events


def step(running: Running, **asked: Any) -> Task:
    given = {"since": START} | asked
    first = Step(replay=replay_id("sub_1", given["since"], "asked", PLAN), subscription="sub_1", **given)
    task = task_of(first, "demo", shards=PLAN, now=running.clock.now())
    running.stores(task)
    return task


def replayed(running: Running, task: Task) -> None:
    """The step and all that follow it, and the deliveries that they make."""
    running.run(message(task))
    while packets := running.queue.take():
        running.run(
            *(message(*packet.dues, number=at, via=packet.via) for at, (packet, _) in enumerate(packets))
        )


def told(running: Running) -> set[str | None]:
    found = running.tasks.runs_listed("demo", "sub_1", after="", limit=1000)
    return {task.payload.key for task in running.tasks.get_many(found).values()}


def test_a_replay_delivers_what_is_wanted_in_its_span(running: Running, subscription: Subscription) -> None:
    _, first, second, _ = feed(running, 1, 2, 3, 4)
    feed(running, 5, type="payment.failed")
    task = step(running, since=START + 2 * MINUTE, until=START + 4 * MINUTE)
    replayed(running, task)
    assert told(running) == {first.id, second.id}
    assert len(running.target.started) == 2
    assert running.stored(task).state is TaskState.SUCCEEDED


def test_an_event_that_was_delivered_is_not_delivered_again(
    running: Running, subscription: Subscription
) -> None:
    feed(running, 1, 2)
    replayed(running, step(running))
    replayed(running, step(running, since=START + timedelta(seconds=1)))
    assert len(running.target.started) == 2


def test_a_dead_delivery_is_tried_again(running: Running, subscription: Subscription) -> None:
    feed(running, 1)
    first = step(running)
    running.run(message(first))
    ((packet, _),) = running.queue.take()
    (due,) = packet.dues
    running.target.script[due.id].append(FINAL)
    running.run(message(due))
    assert running.tasks.get_many([due.id])[due.id].state is TaskState.DEAD
    feed(running, 2)
    replayed(running, step(running, only_failed=True, since=START + timedelta(seconds=1)))
    assert running.tasks.get_many([due.id])[due.id].state is TaskState.SUCCEEDED
    assert len(told(running)) == 1


def test_a_long_replay_goes_on_in_steps(
    running: Running, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replaying, "STEP_PAGES", 2)
    events = feed(running, 1, 2, 3, 4, 5)
    replayed(running, step(running))
    assert told(running) == {event.id for event in events}
    assert len(running.target.started) == 5


def test_the_end_of_a_replay_takes_the_mark_of_the_pause_away(
    running: Running, subscription: Subscription
) -> None:
    paused = replace(subscription, version=2, missed_since=START)
    assert running.subscriptions.change(paused)
    feed(running, 1)
    replayed(running, step(running, since=START - MINUTE))
    known = running.subscriptions.get("demo", "sub_1")
    assert known is not None
    assert known.missed_since is None


def test_a_replay_of_an_ended_subscription_dies(running: Running, subscription: Subscription) -> None:
    assert running.subscriptions.change(replace(subscription, version=2, state=State.ENDED))
    feed(running, 1)
    task = step(running)
    replayed(running, task)
    assert running.stored(task).state is TaskState.DEAD
    assert told(running) == set()


def test_the_replay_of_a_pause_writes_each_delivery_once(
    running: Running, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only other writers make the earlier deliveries of a subject again."""
    assert running.subscriptions.change(replace(subscription, version=2, missed_since=START))
    events = [
        Event(
            subject=Subject(tenant="demo", kind="payment", id="pay_1"),
            type="payment.completed",
            sequence=number,
            occurred_at=START,
            recorded_at=START,
        )
        for number in range(1, 5)
    ]
    running.events.put(events, after={"demo": 0})
    for number, event in enumerate(events, start=1):
        entries = (FeedEntry.of(event),)
        page = FeedPage(tenant="demo", log="1a", number=number, recorded_at=START, entries=entries)
        assert running.events.append(page)
    written: list[str | None] = []
    add = running.tasks.add

    def noted(tasks: Sequence[Task]) -> list[Written]:
        written.extend(task.payload.key for task in tasks)
        return add(tasks)

    monkeypatch.setattr(running.tasks, "add", noted)
    replayed(running, step(running, since=START - MINUTE))
    assert [key for key in written if key] == [event.id for event in events]


@pytest.mark.parametrize(
    "asked",
    [
        {"until": START + 30 * MINUTE},
        {"types": ("payment.completed",)},
        {"only_failed": True},
        {"since": START},
    ],
    ids=str,
)
def test_a_replay_of_a_part_of_a_pause_keeps_its_mark(
    running: Running, subscription: Subscription, asked: dict[str, Any]
) -> None:
    assert running.subscriptions.change(replace(subscription, version=2, missed_since=START))
    feed(running, 1)
    replayed(running, step(running, **({"since": START - MINUTE} | asked)))
    known = running.subscriptions.get("demo", "sub_1")
    assert known is not None
    assert known.missed_since == START


def test_a_mark_is_taken_away_although_the_subscription_changes_during_the_replay(
    running: Running, subscription: Subscription, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mark that stays would make the deliveries of the pause again and again."""
    paused = replace(subscription, version=2, missed_since=START)
    assert running.subscriptions.change(paused)
    feed(running, 1)
    get, read = running.subscriptions.get, list[str]()

    def changed_once(tenant: str, id: str) -> Subscription | None:
        found = get(tenant, id)
        if id == "sub_1" and found is not None and not read:
            read.append(id)
            assert running.subscriptions.change(replace(found, version=3, description="other"))
        return found

    monkeypatch.setattr(running.subscriptions, "get", changed_once)
    task = step(running, since=START - MINUTE)
    running.run(message(task))
    assert running.stored(task).state is TaskState.RETRYING
    running.clock.move(MINUTE)
    running.run(message(running.stored(task)))
    assert running.stored(task).state is TaskState.SUCCEEDED
    known = get("demo", "sub_1")
    assert known is not None
    assert (known.description, known.missed_since) == ("other", None)


def test_a_resumption_redrives_no_delivery_that_died_before_the_pause(
    running: Running, subscription: Subscription
) -> None:
    (event,) = feed(running, 1)
    running.run(message(step(running)))
    ((packet, _),) = running.queue.take()
    (due,) = packet.dues
    running.target.script[due.id].append(FINAL)
    running.run(message(due))
    assert event.recorded_at is not None
    known = running.subscriptions.get("demo", "sub_1")
    assert known is not None
    paused = replace(known, version=known.version + 1, missed_since=event.recorded_at + timedelta(seconds=1))
    assert running.subscriptions.change(paused)
    replayed(running, step(running, since=paused.replayed_since))
    assert running.tasks.get_many([due.id])[due.id].state is TaskState.DEAD
