"""Runs of recurring tasks through the executor's handler: one at a time, and always one to come."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count
from typing import Final

import pytest

from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.definition import Reached
from postdate.domain.task import RECEIVER, Ack, State
from postdate.stores.tasks import Written
from tests.boundary import (
    Boundary,
    Call,
    Crash,
    Fault,
    crash_after,
    crash_before,
    done_but_500,
    lost,
    unreachable,
)
from tests.integration.chains import DAY, Chain, chain, definitions_of, tasks_of
from tests.integration.conftest import entered
from tests.integration.test_payment_crashes import From
from tests.integration.world import Client, Record, World, again

EVERYTHING: Final = frozenset(
    {
        "BatchExecuteStatement",
        "BatchGetItem",
        "ChangeMessageVisibilityBatch",
        "GetItem",
        "SendMessageBatch",
    }
)
SDK_TRIES: Final = 5
FAULTS: Final[dict[str, list[Fault]]] = {
    "crash before": [crash_before],
    "crash after": [crash_after],
    "answer lost": [lost],
    "answers lost until the SDK gives up": [lost] * SDK_TRIES,
    "done, but 500": [done_but_500],
    "unreachable for long": [unreachable] * 4 * SDK_TRIES,
}
_tenants = count(1)


@pytest.fixture
def world(common_world: World, boundary: Boundary, monkeypatch: pytest.MonkeyPatch) -> World:
    """Sweeps of this world open minutes two days ahead: the writer of tomorrow's run also sends its call."""
    wide = {**common_world.environment, "OPEN_LEAD_SECONDS": str(2 * 86_400)}
    return entered(replace(common_world, environment=wide), monkeypatch)


@pytest.fixture
def new_chain(world: World) -> Callable[..., Chain]:
    def make(**fields: object) -> Chain:
        client = world.tenant(f"chain-{next(_tenants)}-{time.time_ns() % 10**9}")
        return chain(world, client, **fields)

    return make


def states(made: Chain) -> list[State]:
    return [run.state for run in made.rows()]


def test_a_run_is_delivered_and_the_next_one_written_and_called(
    world: World, new_chain: Callable[..., Chain], boundary: Boundary
) -> None:
    made = new_chain()
    records = made.calls()
    boundary.clear()
    assert world.run(records) == []
    run, following = made.rows()
    assert (run.id, run.state, following.state) == (made.run.id, State.SUCCEEDED, State.PENDING)
    assert following.planned_at == run.planned_at + DAY
    (told,) = made.delivered()
    assert (told["Idempotency-Key"], told["Postdate-Task-Id"]) == (run.id, made.definition.id)
    ((packet, _),) = world.sent(boundary.calls, "tasks")
    assert [due.id for due in packet.dues] == [following.id]


def test_a_run_takes_five_calls_more_than_a_task_one_of_them_ahead_of_time(
    world: World, client: Client, new_chain: Callable[..., Chain], boundary: Boundary
) -> None:
    def asked(records: list[Record]) -> list[str]:
        """Requests to the table of items and to the queue of calls."""
        boundary.clear()
        assert world.run(records) == []
        return [
            call.operation
            for call in boundary.calls
            if call.names(world.tables["items"]) or call.names(world.queues["tasks"])
        ]

    client.register()
    task = asked(world.received(world.queues["tasks"], tenant=client.tenant))
    run = asked(new_chain().calls())
    read, written = ["ChangeMessageVisibilityBatch", "BatchGetItem"], ["BatchExecuteStatement"] * 2
    assert task == [*read, *written]
    more = [*["BatchGetItem"] * 3, "BatchExecuteStatement", "SendMessageBatch"]
    assert run == [*read, *more, *written]


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_a_run_met_it_has_one_outcome_and_there_is_one_to_come(
    world: World, new_chain: Callable[..., Chain], boundary: Boundary, name: str
) -> None:
    """A crash, a lost answer or an error at each call in turn; then the message comes back."""
    known = new_chain()
    records = known.calls()
    boundary.clear()
    world.run(records)
    number = sum(ours(call) for call in boundary.calls)
    assert number >= 7
    for place in range(number):
        made = new_chain()
        records = made.calls()
        begins = From(place=place)
        boundary.clear()
        boundary.fail(EVERYTHING, *FAULTS[name], when=lambda call: ours(call) and begins(call))  # noqa: B023
        try:
            failed = world.run(records)
        except Crash:
            failed = [record["messageId"] for record in records]
        sent_on = {due.id for packet, _ in world.sent(boundary.calls, "tasks") for due in packet.dues}
        boundary.clear()
        assert failed or states(made)[0] is State.SUCCEEDED or made.run.id in sent_on
        ends(world, made, [*again(records), *world.received(world.queues["tasks"], tenant=made.run.tenant)])
        run, following = made.rows()
        assert (run.state, following.state) == (State.SUCCEEDED, State.PENDING)
        assert (following.planned_at, following.version) == (run.planned_at + DAY, 1)
        assert {told["Idempotency-Key"] for told in made.delivered()} == {run.id}
        assert world.run(again(records)) == []
        assert made.delivered() == []


def ends(world: World, made: Chain, records: list[Record]) -> None:
    """Delivers the messages of the queue as if the time of a lease had passed."""
    if states(made)[0] is State.RUNNING:
        made.end_lease()
    assert world.run(records) == []
    while states(made)[0] is State.RETRYING:
        assert world.run(world.received(world.queues["tasks"], tenant=made.run.tenant)) == []


def ours(call: Call) -> bool:
    """A delivery is made by a thread of its own, which does not die with its worker here."""
    return not call.names("destination")


def test_a_run_delivered_to_many_workers_at_once_is_one_run(
    world: World, new_chain: Callable[..., Chain]
) -> None:
    made = new_chain()
    (record,) = made.calls()
    for number in range(3):
        world.run([record | {"messageId": f"copy {number}"}])
    assert states(made) == [State.SUCCEEDED, State.PENDING]
    assert len(made.delivered()) == 1


def test_the_last_run_finishes_its_task(world: World, new_chain: Callable[..., Chain]) -> None:
    made = new_chain(max_runs=1)
    assert world.run(made.calls()) == []
    assert states(made) == [State.SUCCEEDED]
    stored = definitions_of(world).get(made.definition.id)
    assert stored is not None
    assert stored.state is definitions.State.FINISHED


def test_a_run_of_a_paused_task_is_skipped(world: World, new_chain: Callable[..., Chain]) -> None:
    made = new_chain()
    paused = definitions.pause(
        made.definition, now=made.run.due_at, reached=Reached(runs=0), reason="release"
    )
    assert paused is not None
    assert definitions_of(world).change(made.definition, paused) is Written.DONE
    assert world.run(made.calls()) == []
    (run,) = made.rows()
    assert (run.state, run.history[-1].why) == (State.SKIPPED, "paused: release")
    assert made.delivered() == []


def test_a_run_that_waits_for_a_retry_ends_when_its_task_was_cancelled(
    world: World, new_chain: Callable[..., Chain], boundary: Boundary
) -> None:
    made = new_chain()
    boundary.fail(
        "SendMessageBatch", *[lost] * SDK_TRIES, when=lambda call: call.names(made.client.queue_url)
    )
    assert world.run(made.calls()) == []
    run = made.rows()[0]
    assert run.state is State.RETRYING
    cancelled = definitions.cancel(made.definition, now=run.moved_at)
    assert cancelled
    assert definitions_of(world).change(made.definition, cancelled) is Written.DONE
    assert world.run(made.calls([run])) == []
    ended = made.rows()[0]
    assert (ended.state, ended.history[-1].why) == (State.CANCELLED, "its task was cancelled")
    assert {told["Postdate-Attempt"] for told in made.delivered()} == {"1"}


def test_a_delivery_to_be_acknowledged_waits_under_the_receivers_lease(
    world: World, new_chain: Callable[..., Chain], boundary: Boundary
) -> None:
    made = new_chain(ack=Ack.EXPLICIT, timeout_seconds=60)
    records = made.calls()
    boundary.clear()
    assert world.run(records) == []
    run, _ = made.rows()
    assert (run.state, run.holder, run.token) == (State.RUNNING, RECEIVER, 1)
    (delay,) = [delay for packet, delay in world.sent(boundary.calls, "tasks") if packet.dues[0].id == run.id]
    assert timedelta(seconds=50) <= delay <= timedelta(seconds=60)

    made.end_lease()
    assert world.run(again(records)) == []
    assert [told["Postdate-Token"] for told in made.delivered()] == ["1", "2"]
    done = transitions.succeed(made.rows()[0], now=run.due_at, why="completed")
    assert tasks_of(world).commit([done]) == [Written.DONE]
    assert world.run(again(records)) == []
    assert states(made) == [State.SUCCEEDED, State.PENDING]


def test_a_definition_of_newer_code_keeps_its_own_message_and_no_other_tenants(
    world: World, new_chain: Callable[..., Chain]
) -> None:
    """A cron of newer code raises on reading, as does a zone that the database lacks."""
    made = new_chain()
    other = world.tenant(f"{made.client.tenant}-other")
    newer = '{"cron":"*/5 22-2 * * *","timezone":"UTC"}'
    world.dynamodb.update_item(
        TableName=world.tables["items"],
        Key={"slot": {"S": made.definition.home.key}, "id": {"S": made.definition.id}},
        UpdateExpression="SET schedule = :newer",
        ExpressionAttributeValues={":newer": {"S": newer}},
    )
    (kept,) = made.calls()
    task = other.register().body
    records = [kept, *world.received(world.queues["tasks"], tenant=other.tenant)]
    assert world.run(records) == [kept["messageId"]]
    assert other.get(f"/api/v1/tasks/{task['task_id']}").body["status"] == "SUCCEEDED"
    assert made.rows() == [made.run]


@pytest.mark.parametrize("change", ["renamed", "paused and resumed"])
def test_a_new_plan_names_the_run_of_the_old_that_is_on_and_counts_it(
    world: World, new_chain: Callable[..., Chain], change: str
) -> None:
    made = new_chain(ack=Ack.EXPLICIT, timeout_seconds=300, max_runs=5)
    assert world.run(made.calls()) == []
    path = f"/api/v1/tasks/{made.definition.id}"
    if change == "renamed":
        assert made.client.call("PATCH", path, {"name": "other"}).status == 200
    else:
        assert made.client.call("POST", f"{path}/pause").status == 200
        assert made.client.call("POST", f"{path}/resume").status == 200
    on, *rows = made.rows()
    assert on.state is State.RUNNING
    ended, (first,) = (
        [run for run in rows if run.state is not State.PENDING],
        [run for run in rows if run.state is State.PENDING],
    )
    assert [run.state for run in ended] == [State.CANCELLED if change == "renamed" else State.SKIPPED]
    assert first.recurs is not None
    assert (first.recurs.before, first.recurs.number) == ((on.id,), 2)
