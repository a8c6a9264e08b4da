"""A function that ends between two of its calls leaves nothing lost and nothing twice."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest

from postdate.domain.due import Via
from tests.boundary import (
    Boundary,
    Call,
    Crash,
    Fault,
    crash_after,
    crash_before,
    done_but_500,
    lost,
    refused,
)
from tests.e2e.receiver import Receiver
from tests.integration.world import Answer, Client, Record, World, again

TASKS: Final = "/api/v1/tasks"
TRIES: Final = 5
TRANSACTIONS: Final = ("ExecuteTransaction", "TransactWriteItems")
SENDS: Final = ("SendMessage", "SendMessageBatch")


def calls(world: World, client: Client) -> list[Record]:
    return world.received(world.queues["tasks"], tenant=client.tenant)


def only_task(client: Client) -> dict[str, Any]:
    (task,) = client.get(TASKS).body["tasks"]
    found: dict[str, Any] = client.get(f"{TASKS}/{task['task_id']}").body
    return found


def to(world: World, queue: str) -> Callable[[Call], bool]:
    return lambda call: call.asked.get("QueueUrl") == world.queues[queue]


def registered_again(client: Client) -> Answer:
    answer = client.register(key="order-7", payload="x" * 3000)
    assert answer.status == 201
    return answer


@pytest.mark.parametrize("operation", ["PutItem", "BatchExecuteStatement"])
@pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])
def test_a_registration_whose_answer_stays_lost_is_one_task_when_sent_again(
    world: World, client: Client, boundary: Boundary, operation: str, fault: Fault
) -> None:
    boundary.fail(operation, *[fault] * TRIES)
    answer = client.register(key="order-7", payload="x" * 3000)
    assert (answer.status, answer.body["code"]) == (503, "unavailable")
    assert registered_again(client).body["task_id"] == only_task(client)["task_id"]
    assert world.run(calls(world, client)) == []
    assert len(world.received(client.queue_url)) == 1
    assert only_task(client)["status"] == "SUCCEEDED"


@pytest.mark.parametrize("operation", ["PutItem", "BatchExecuteStatement", "SendMessageBatch"])
@pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])
def test_a_registration_of_which_one_answer_is_lost_is_answered_as_any_other(
    world: World, client: Client, boundary: Boundary, operation: str, fault: Fault
) -> None:
    boundary.fail(operation, fault)
    answer = client.register(key="order-7", payload="x" * 3000)
    assert answer.status == 201
    assert "idempotent-replayed" not in answer.headers
    assert world.run(calls(world, client)) == []
    assert len(world.received(client.queue_url)) == 1
    assert only_task(client)["task_id"] == answer.body["task_id"]


@pytest.mark.parametrize("fault", [crash_before, crash_after])
@pytest.mark.parametrize(
    ("operation", "table"),
    [
        ("PutItem", "idempotency"),
        ("PutItem", "payloads"),
        ("BatchExecuteStatement", "items"),
        ("SendMessageBatch", None),
    ],
    ids=["key", "payload", "task", "call"],
)
def test_a_registrar_that_dies_anywhere_is_repaired_by_the_callers_retry(
    world: World, client: Client, boundary: Boundary, operation: str, table: str | None, fault: Fault
) -> None:
    boundary.fail(operation, fault, when=lambda call: table is None or call.names(world.tables[table]))
    with pytest.raises(Crash):
        client.register(key="order-7", payload="x" * 3000)
    task_id = registered_again(client).body["task_id"]
    assert registered_again(client).body["task_id"] == task_id
    assert world.run(calls(world, client)) == []
    assert len(world.received(client.queue_url)) == 1
    assert only_task(client)["task_id"] == task_id


@pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])
@pytest.mark.usefixtures("refusal")
def test_a_worker_knows_its_own_claim_and_its_own_outcome(
    world: World, client: Client, boundary: Boundary, fault: Fault
) -> None:
    client.register()
    records = calls(world, client)
    boundary.fail("BatchExecuteStatement", fault, when=lambda call: call.names('"RUNNING"'))
    boundary.fail("BatchExecuteStatement", fault, when=lambda call: call.names('"SUCCEEDED"'))
    assert world.run(records) == []
    assert boundary.faults_left == 0
    assert len(world.received(client.queue_url)) == 1
    assert (only_task(client)["status"], only_task(client)["attempts"]) == ("SUCCEEDED", 1)


def test_an_outcome_whose_answer_stays_lost_is_still_known_as_ones_own(
    world: World, client: Client, boundary: Boundary
) -> None:
    client.register()
    records = calls(world, client)
    boundary.fail("BatchExecuteStatement", *[lost] * TRIES, when=lambda call: call.names('"SUCCEEDED"'))
    assert world.run(records) == []
    assert boundary.faults_left == 0
    assert only_task(client)["status"] == "SUCCEEDED"
    assert world.run(again(records)) == []
    assert len(world.received(client.queue_url)) == 1


@pytest.mark.usefixtures("refusal")
def test_a_claim_whose_answer_stays_lost_is_found_by_reading_and_carried_out(
    world: World, client: Client, boundary: Boundary
) -> None:
    client.register()
    records = calls(world, client)
    boundary.fail("BatchExecuteStatement", *[lost] * TRIES, when=lambda call: call.names('"RUNNING"'))
    assert world.run(records) == []
    assert boundary.faults_left == 0
    assert len(world.received(client.queue_url)) == 1
    assert (only_task(client)["status"], only_task(client)["attempts"]) == ("SUCCEEDED", 1)


@pytest.mark.parametrize("claimed", [False, True])
def test_a_worker_that_dies_at_its_claim_is_followed_by_one_with_a_newer_token(
    world: World, client: Client, boundary: Boundary, claimed: bool
) -> None:
    client.register()
    records = calls(world, client)
    boundary.fail("BatchExecuteStatement", crash_after if claimed else crash_before)
    with pytest.raises(Crash):
        world.run(records)
    assert world.received(client.queue_url) == []
    if claimed:
        boundary.clear()
        assert world.run(again(records)) == []
        ((deferred, delay),) = world.sent(boundary.calls, "tasks")
        assert deferred.dues[0].version == 2
        assert timedelta(seconds=30) <= delay <= timedelta(seconds=40)
        end_lease(world, client)
    assert world.run(again(records)) == []
    (message,) = world.received(client.queue_url)
    number = "2" if claimed else "1"
    assert message["messageAttributes"]["Postdate-Token"] == number
    task = only_task(client)
    assert (task["status"], task["attempts"], task["last_run"]["token"]) == (
        "SUCCEEDED",
        int(number),
        int(number),
    )


def test_a_lease_that_is_over_by_one_clock_alone_is_waited_for_in_the_queue(
    world: World, client: Client, boundary: Boundary
) -> None:
    """A call that no worker had before cannot know whether its clock is right."""
    client.register()
    records = calls(world, client)
    boundary.fail("BatchExecuteStatement", crash_after)
    with pytest.raises(Crash):
        world.run(records)
    end_lease(world, client)
    boundary.clear()
    assert world.run(records) == []
    ((packet, delay),) = world.sent(boundary.calls, "tasks")
    assert packet.seen
    assert timedelta(seconds=30) <= delay <= timedelta(seconds=40)
    assert world.received(client.queue_url) == []


@pytest.mark.parametrize("fault", [crash_before, crash_after])
def test_a_worker_that_dies_before_its_retry_is_sent_leaves_the_call_that_sends_it(
    world: World, client: Client, receiver: Receiver, boundary: Boundary, fault: Fault
) -> None:
    target = {"type": "webhook", "url": f"{receiver.url}/status/503"}
    task_id = client.register(target=target, retry={"initial_seconds": 20, "jitter": False}).body["task_id"]
    records = calls(world, client)
    boundary.fail(SENDS, fault, when=to(world, "tasks"))
    with pytest.raises(Crash):
        world.run(records)
    assert only_task(client)["status"] == "RETRYING"
    boundary.clear()
    assert world.run(again(records)) == []
    ((packet, delay),) = world.sent(boundary.calls, "tasks")
    assert (packet.dues[0].id, packet.dues[0].version) == (task_id, 3)
    assert timedelta(seconds=10) <= delay <= timedelta(seconds=20)
    assert len(receiver.of(task_id)) == 1


@pytest.mark.parametrize("fault", [crash_before, crash_after])
def test_a_worker_that_dies_before_its_dead_letter_is_sent_leaves_the_call_that_sends_it(
    world: World, client: Client, receiver: Receiver, boundary: Boundary, fault: Fault
) -> None:
    task_id = client.register(target={"type": "webhook", "url": f"{receiver.url}/status/422"}).body["task_id"]
    records = calls(world, client)
    boundary.fail(SENDS, fault, when=to(world, "tasks-dlq"))
    with pytest.raises(Crash):
        world.run(records)
    assert only_task(client)["status"] == "DEAD"
    boundary.clear()
    assert world.run(again(records)) == []
    ((letter, _),) = world.sent(boundary.calls, "tasks-dlq")
    assert (letter.via, letter.dues[0].id, letter.dues[0].version) == (Via.DEAD, task_id, 3)
    assert len(receiver.of(task_id)) == 1


def test_a_worker_that_dies_after_its_delivery_delivers_again_under_a_newer_token(
    world: World, client: Client, boundary: Boundary
) -> None:
    """At least once: nobody can know whether the destination took it."""
    client.register()
    records = calls(world, client)
    boundary.fail("BatchExecuteStatement", crash_before, when=lambda call: call.names('"SUCCEEDED"'))
    with pytest.raises(Crash):
        world.run(records)
    end_lease(world, client)
    assert world.run(again(records)) == []
    messages = world.received(client.queue_url)
    told = [message["messageAttributes"] for message in messages]
    assert sorted(each["Postdate-Token"] for each in told) == ["1", "2"]
    assert len({each["Idempotency-Key"] for each in told}) == 1


def test_a_retry_that_cannot_be_sent_fails_its_message_and_is_sent_by_its_return(
    world: World, client: Client, receiver: Receiver, boundary: Boundary
) -> None:
    client.register(target={"type": "webhook", "url": f"{receiver.url}/status/500"})
    (record,) = calls(world, client)
    boundary.fail(SENDS, *[refused("RequestThrottled")] * 99, when=to(world, "tasks"))
    assert world.run([record]) == [record["messageId"]]
    boundary.clear()
    assert world.run(again([record])) == []
    assert [packet.dues[0].version for packet, _ in world.sent(boundary.calls, "tasks")] == [3]


def test_a_retry_too_far_for_the_queue_that_meets_a_transaction_is_tried_again(
    world: World, client: Client, receiver: Receiver, boundary: Boundary
) -> None:
    """The retry's pointer is its call, so no message is sent."""
    target = {"type": "webhook", "url": f"{receiver.url}/status/500"}
    client.register(target=target, retry={"initial_seconds": 1000, "max_seconds": 2000, "jitter": False})
    records = calls(world, client)
    reasons = [{"Code": "TransactionConflict", "Message": "busy"}, {"Code": "None"}]
    conflict = refused("TransactionCanceledException", CancellationReasons=reasons)
    boundary.clear()
    boundary.fail(TRANSACTIONS, conflict, conflict)
    assert world.run(records) == []
    assert boundary.faults_left == 0
    task = only_task(client)
    assert (task["status"], task["version"]) == ("RETRYING", 3)
    assert world.sent(boundary.calls, "tasks") == []
    rows = world.rows(world.tables["items"])
    assert [row["due"] for row in rows if row.get("points_to") == {"S": task["task_id"]}] == [
        row["due"] for row in rows if row["id"] == {"S": task["task_id"]}
    ]


def test_a_change_that_meets_a_transaction_is_told_to_come_again(
    world: World, client: Client, boundary: Boundary
) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    reasons = [{"Code": "TransactionConflict", "Message": "busy"}, {"Code": "None"}]
    boundary.fail(TRANSACTIONS, refused("TransactionCanceledException", CancellationReasons=reasons))
    first = client.call("PATCH", path, {"delay_seconds": 6000})
    assert (first.status, first.body["code"], first.headers["retry-after"]) == (503, "unavailable", "1")
    assert client.get(path).body["version"] == 1
    assert client.call("PATCH", path, {"delay_seconds": 6000}).status == 200


def end_lease(world: World, client: Client) -> None:
    """Ends the lease as if its time had passed."""
    rows = world.rows(world.tables["items"])
    (row,) = [row for row in rows if row["tenant"] == {"S": client.tenant} and "lease" in row]
    world.dynamodb.update_item(
        TableName=world.tables["items"],
        Key={"slot": row["slot"], "id": row["id"]},
        UpdateExpression="SET lease = :past",
        ExpressionAttributeValues={":past": {"N": str(int(row["lease"]["N"]) - 41_000)}},
    )
