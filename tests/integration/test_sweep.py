"""Wake-ups through the sweeper's handler: slots are opened, closed and audited, and the clock goes on."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from postdate.domain import instants, task_requests
from postdate.domain.due import Due, Via
from postdate.domain.slots import item_id
from postdate.domain.sweeping import Stage, SweepProgress, Watermark
from postdate.domain.task import KIND, Destination, Payload, Task, Template
from postdate.stores.passes_dynamo import DynamoPasses
from postdate.stores.tasks import Written
from postdate.stores.tasks_dynamo import DynamoTasks
from tests.boundary import Boundary, refused, unreachable
from tests.contract.examples import PLAN
from tests.integration.conftest import entered
from tests.integration.stores import Stores
from tests.integration.world import World
from tests.tables import KEYS

TICK = {"kind": "tick"}
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """The tables as the sweeper sees them, and tasks put there by somebody who died before he sent their calls."""

    tasks: DynamoTasks
    passes: DynamoPasses
    now: datetime

    def task(self, due_in: timedelta, *, unique: int = 1, registered: timedelta = -MINUTE) -> Task:
        due_at, bytes_ = self.now + due_in, unique.to_bytes(10)
        task = task_requests.register(
            id=item_id(KIND, PLAN.slot(due_at, bytes_), bytes_),
            tenant="acme",
            due_at=due_at,
            now=self.now + registered,
            template=Template(
                destination=Destination(type="sqs", address="nowhere"), payload=Payload(text="1")
            ),
        )
        assert self.tasks.add([task]) == [Written.DONE]
        return task

    def passed(self, minute: int, stage: Stage, opened_at: datetime) -> None:
        self.passes.record(SweepProgress(minute=minute, group=0, stage=stage, opened_at=opened_at))


@pytest.fixture
def world(own_world: World, boundary: Boundary, monkeypatch: pytest.MonkeyPatch) -> World:
    return entered(own_world, monkeypatch)


@pytest.fixture(scope="module")
def own_stores(own_world: World) -> Stores:
    return Stores.of(own_world)


@pytest.fixture
def stored(world: World, own_stores: Stores) -> Iterator[Stored]:
    """Empty again after each test: whatever one sweep does, the next one finds done."""
    now = instants.from_milliseconds(instants.milliseconds(datetime.now(UTC)))
    own_stores.passes.raise_watermark(Watermark(minute=instants.minute_of(now) - 3))
    yield Stored(tasks=own_stores.tasks, passes=own_stores.passes, now=now)
    for name in ("items", "slots"):
        for row in world.rows(world.tables[name]):
            key = {attribute: row[attribute] for attribute in KEYS[name]}
            world.dynamodb.delete_item(TableName=world.tables[name], Key=key)


def sent_dues(world: World, boundary: Boundary) -> list[tuple[Via, Due]]:
    return [(packet.via, due) for packet, _ in world.sent(boundary.calls, "tasks") for due in packet.dues]


def wake_ups(world: World, boundary: Boundary) -> list[tuple[Any, int]]:
    """Messages of the sweeper to itself, with the delay of each in seconds."""
    return [
        (json.loads(asked["MessageBody"]), asked["DelaySeconds"])
        for asked in boundary.asked("SendMessage")
        if asked["QueueUrl"] == world.queues["ticks"]
    ]


def test_a_tick_sends_what_is_due_soon_and_only_once(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    soon = [stored.task(timedelta(seconds=place * 9), unique=place) for place in range(8)]
    stored.task(timedelta(minutes=10), unique=99)
    assert world.sweep(TICK) == []
    expected = {(Via.SWEEP, Due.of(task)) for task in soon}
    assert set(sent_dues(world, boundary)) == expected
    assert world.sweep(TICK) == []
    assert len(sent_dues(world, boundary)) == len(soon)


def test_what_is_in_a_state_that_only_newer_code_knows_is_called_and_audited(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    """During a deploy both codes are at work: what the older one passed over, nobody would come back to."""
    newer, overdue = stored.task(timedelta(seconds=30)), stored.task(timedelta(minutes=-70), unique=2)
    for task in (newer, overdue):
        world.dynamodb.update_item(
            TableName=world.tables["items"],
            Key={"slot": {"S": task.home.key}, "id": {"S": task.id}},
            UpdateExpression="SET #status = :new",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":new": {"S": "FORESEEN"}},
        )
    stored.passed(overdue.home.minute, Stage.CLOSE, overdue.due_at)
    world.sweep({"kind": "sweep", "minute": overdue.home.minute, "group": 0, "stage": "audit"})
    world.sweep(TICK)
    assert set(sent_dues(world, boundary)) == {(Via.AUDIT, Due.of(overdue)), (Via.SWEEP, Due.of(newer))}
    (progress,) = stored.passes.between(overdue.home.minute, overdue.home.minute)
    assert (progress.stage, progress.looked_at is None) == (Stage.CLOSE, False)


def test_what_was_cancelled_or_moved_away_is_not_sent_and_what_was_moved_here_is(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    cancelled, away, here = (
        stored.task(due_in, unique=place)
        for place, due_in in enumerate([MINUTE, MINUTE, timedelta(minutes=30)])
    )
    cancel = task_requests.cancel(cancelled, now=stored.now)
    assert cancel is not None
    moves = [
        task_requests.edit(task, now=stored.now, due_at=stored.now + due_in, why="changed run_at")
        for task, due_in in ((away, timedelta(minutes=30)), (here, timedelta(seconds=70)))
    ]
    assert stored.tasks.commit([cancel, *moves]) == [Written.DONE] * 3
    assert world.sweep(TICK) == []
    assert sent_dues(world, boundary) == [(Via.SWEEP, Due.of(moves[1].after))]


def test_the_first_tick_starts_the_heartbeat_and_the_next_one_leaves_it_alone(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    world.sweep(TICK)
    world.sweep(TICK)
    assert wake_ups(world, boundary) == [({"kind": "heartbeat", "number": 1}, 10)]


def test_a_heartbeat_sweeps_and_goes_on_and_its_double_does_nothing(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    world.sweep(TICK)
    boundary.clear()
    beat = {"kind": "heartbeat", "number": 1}
    assert world.sweep(beat, beat) == []
    assert wake_ups(world, boundary) == [({"kind": "heartbeat", "number": 2}, 10)]


def test_a_heartbeat_opens_what_is_due_soon_as_a_tick_does(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    task = stored.task(timedelta(seconds=50))
    assert world.sweep({"kind": "heartbeat", "number": 0}) == []
    assert sent_dues(world, boundary) == [(Via.SWEEP, Due.of(task))]


def test_a_pass_handed_out_is_made_once(world: World, stored: Stored, boundary: Boundary) -> None:
    task = stored.task(timedelta(minutes=1))
    sweep = {"kind": "sweep", "minute": task.home.minute, "group": 0, "stage": "open"}
    assert world.sweep(sweep, sweep) == []
    assert sent_dues(world, boundary) == [(Via.SWEEP, Due.of(task))]
    done = stored.passes.get(task.home.minute, 0)
    assert done is not None
    assert done.stage is Stage.OPEN


def test_the_closing_pass_sends_only_what_came_after_the_opening(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    due_in = -timedelta(minutes=4)
    early = stored.task(due_in, unique=1, registered=-timedelta(minutes=20))
    late = stored.task(due_in, unique=2, registered=-timedelta(minutes=5))
    stored.passed(early.home.minute, Stage.OPEN, stored.now - timedelta(minutes=6))
    sweep = {"kind": "sweep", "minute": early.home.minute, "group": 0, "stage": "close"}
    assert world.sweep(sweep) == []
    assert sent_dues(world, boundary) == [(Via.CLOSING, Due.of(late))]


def test_the_audit_sends_what_is_overdue_and_in_nobodys_hands(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    lost, done, moved = (stored.task(-timedelta(minutes=90), unique=number) for number in (1, 2, 3))
    cancel = task_requests.cancel(done, now=stored.now)
    assert cancel is not None
    later = stored.now + timedelta(hours=1)
    stored.tasks.commit(
        [cancel, task_requests.edit(moved, now=stored.now, due_at=later, why="changed run_at")]
    )
    stored.passed(lost.home.minute, Stage.CLOSE, stored.now - timedelta(minutes=93))
    sweep = {"kind": "sweep", "minute": lost.home.minute, "group": 0, "stage": "audit"}
    assert world.sweep(sweep) == []
    assert sent_dues(world, boundary) == [(Via.AUDIT, Due.of(lost))]


def test_a_wake_up_that_is_none_fails_alone(world: World, stored: Stored, boundary: Boundary) -> None:
    task = stored.task(MINUTE)
    none: list[Any] = [
        "no json",
        "null",
        {},
        {"kind": "nap"},
        {"kind": "heartbeat", "number": "1"},
        {"kind": "sweep", "minute": 1, "group": 0, "stage": "paint"},
        {"kind": "sweep", "minute": 10**20, "group": 0, "stage": "open"},
    ]
    assert world.sweep(*none, TICK, "[]") == [*map(str, range(len(none))), str(len(none) + 1)]
    assert sent_dues(world, boundary) == [(Via.SWEEP, Due.of(task))]


def test_a_pass_whose_calls_could_not_be_sent_is_not_noted_and_made_again(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    task = stored.task(timedelta(minutes=9))
    sweep = {"kind": "sweep", "minute": task.home.minute, "group": 0, "stage": "open"}
    boundary.fail("SendMessageBatch", *[unreachable] * 9)
    assert world.sweep(sweep) == ["0"]
    assert stored.passes.get(task.home.minute, 0) is None
    boundary.clear()
    assert world.sweep(sweep) == []
    assert sent_dues(world, boundary) == [(Via.SWEEP, Due.of(task))]


def test_a_pass_that_could_not_read_a_slot_to_its_end_sends_and_notes_nothing(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    tasks = [stored.task(timedelta(minutes=9), unique=place) for place in range(9)]
    sweep = {"kind": "sweep", "minute": tasks[0].home.minute, "group": 0, "stage": "open"}
    throttled = refused("ProvisionedThroughputExceededException")
    boundary.fail("Query", *[throttled] * 9, when=lambda call: call.names(tasks[0].home.key))
    assert world.sweep(sweep) == ["0"]
    assert sent_dues(world, boundary) == []
    assert stored.passes.get(tasks[0].home.minute, 0) is None


def test_a_tick_goes_on_where_the_last_sweep_was_stopped(
    world: World, stored: Stored, boundary: Boundary
) -> None:
    missed = stored.task(-timedelta(minutes=2), registered=-timedelta(minutes=40))

    def stage() -> Stage | None:
        done = stored.passes.get(missed.home.minute, 0)
        return None if done is None else done.stage

    # Minutes that other tests of this world have left open come first.
    for _ in range(10):
        assert world.sweep(TICK) == []
        if stage() is Stage.CLOSE:
            break
    assert [due for _, due in sent_dues(world, boundary)] == [Due.of(missed)]
    assert stage() is Stage.CLOSE
