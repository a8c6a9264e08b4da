"""Packets through the executor's handler: each task is delivered when it is due and its outcome is stored."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from standardwebhooks import Webhook

from functions.run_tasks.circuits import circuit
from postdate.domain.breaker import Breaker, slowed
from postdate.domain.due import Via
from postdate.domain.task import Destination
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.tenants import Tenant
from tests.boundary import Boundary, Fault, Send, answered, unreachable
from tests.e2e.receiver import Receiver
from tests.integration.conftest import SETTINGS
from tests.integration.world import SIGNING_SECRET, Client, Record, World, again

TASKS = "/api/v1/tasks"
LEASE_SECONDS = int(SETTINGS["LEASE_SECONDS"])


def calls(world: World, client: Client) -> list[Record]:
    return world.received(world.queues["tasks"], tenant=client.tenant)


def states(client: Client) -> dict[str, str]:
    return {task["task_id"]: task["status"] for task in client.get(TASKS).body["tasks"]}


def refusing(world: World, id: str, code: str) -> Fault:
    """The statements about this task meet this error, the others are carried out."""

    def fault(request: AWSPreparedRequest, send: Send) -> AWSResponse:
        responses = [
            {"Error": {"Code": code, "Message": "no"}}
            if id in json.dumps(statement)
            else world.dynamodb.batch_execute_statement(Statements=[statement])["Responses"][0]
            for statement in json.loads(request.body)["Statements"]
        ]
        return answered({"Responses": responses})(request, send)

    return fault


def test_what_is_due_now_is_delivered_and_its_outcome_stored(world: World, client: Client) -> None:
    task = client.register(payload={"größe": 7}).body
    assert world.run(calls(world, client)) == []
    (message,) = world.received(client.queue_url)
    assert json.loads(message["body"]) == {"größe": 7}
    told = message["messageAttributes"]
    assert (told["Postdate-Task-Id"], told["Postdate-Attempt"], told["Postdate-Token"]) == (
        task["task_id"],
        "1",
        "1",
    )
    assert told["Postdate-Planned-At"] == task["run_at"]
    stored = client.get(f"{TASKS}/{task['task_id']}").body
    assert (stored["status"], stored["attempts"], stored["version"]) == ("SUCCEEDED", 1, 3)
    assert [line["status"] for line in stored["history"]] == ["PENDING", "RUNNING", "SUCCEEDED"]
    assert stored["last_run"]["lateness_ms"] >= 0


def test_tenants_that_meet_in_a_batch_are_read_in_one_request(
    world: World, client: Client, boundary: Boundary
) -> None:
    other = world.tenant(f"{client.tenant[:40]}-other")
    records = []
    for each in (client, other):
        each.register()
        records += calls(world, each)
    boundary.clear()
    assert world.run(records) == []
    asked = [each["RequestItems"].get(world.tables["tenants"]) for each in boundary.asked("BatchGetItem")]
    assert [len(each["Keys"]) for each in asked if each is not None] == [2]
    assert [len(world.received(each.queue_url)) for each in (client, other)] == [1, 1]


def test_nothing_is_delivered_before_it_is_due(world: World, client: Client) -> None:
    client.register(run_at=(datetime.now(UTC) + timedelta(seconds=1.2)).isoformat())
    (record,) = calls(world, client)
    world.run([record])
    (task,) = client.get(TASKS).body["tasks"]
    assert task["status"] == "SUCCEEDED"
    assert task["last_run"]["started_at"] >= task["run_at"]


def test_a_batch_of_packets_is_delivered_whole(world: World, client: Client) -> None:
    forms = [{"delay_seconds": 0, "target": client.target, "payload": place} for place in range(60)]
    client.call("POST", f"{TASKS}/batch", {"tasks": forms})
    records = calls(world, client)
    assert sorted(len(json.loads(record["body"])["dues"]) for record in records) == [10, 25, 25]
    assert world.run(records) == []
    bodies = [json.loads(message["body"]) for message in world.received(client.queue_url)]
    assert sorted(bodies) == list(range(60))
    assert set(states(client).values()) == {"SUCCEEDED"}


def test_a_large_payload_is_delivered_from_its_own_row(world: World, client: Client) -> None:
    client.register(payload="🐈" * 25_000)
    assert world.run(calls(world, client)) == []
    (message,) = world.received(client.queue_url)
    assert json.loads(message["body"]) == "🐈" * 25_000


def test_a_webhook_gets_the_payload_signed(world: World, client: Client, receiver: Receiver) -> None:
    task = client.register(target={"type": "webhook", "url": f"{receiver.url}/status/200"}).body
    assert world.run(calls(world, client)) == []
    (arrival,) = receiver.of(task["task_id"])
    assert Webhook(SIGNING_SECRET).verify(arrival.body.decode(), arrival.headers) == {"n": 1}
    assert arrival.headers["idempotency-key"] == task["task_id"]
    assert states(client) == {task["task_id"]: "SUCCEEDED"}


def test_a_failed_attempt_is_stored_and_called_again_later(
    world: World, client: Client, receiver: Receiver, boundary: Boundary
) -> None:
    target = {"type": "webhook", "url": f"{receiver.url}/status/503"}
    retry = {"initial_seconds": 30, "max_attempts": 2, "jitter": False}
    task_id = client.register(target=target, retry=retry).body["task_id"]
    records = calls(world, client)
    boundary.clear()
    assert world.run(records) == []
    stored = client.get(f"{TASKS}/{task_id}").body
    assert (stored["status"], stored["attempts"], stored["version"]) == ("RETRYING", 1, 3)
    assert "503" in stored["error"]
    ((packet, delay),) = world.sent(boundary.calls, "tasks")
    assert (packet.via, packet.dues[0].id, packet.dues[0].version) == (Via.RETRY, task_id, 3)
    assert timedelta(seconds=20) <= delay <= timedelta(seconds=29)


def test_a_final_failure_is_dead_and_its_letter_names_the_version_that_died(
    world: World, client: Client, receiver: Receiver
) -> None:
    target = {"type": "webhook", "url": f"{receiver.url}/status/410"}
    task_id = client.register(target=target).body["task_id"]
    assert world.run(calls(world, client)) == []
    assert states(client) == {task_id: "DEAD"}
    (letter,) = world.received(world.queues["tasks-dlq"], tenant=client.tenant)
    body = json.loads(letter["body"])
    assert [body["via"], *body["dues"][0][:2]] == ["dead", task_id, 3]

    assert world.run([letter]) == []
    redriven = client.get(f"{TASKS}/{task_id}").body
    assert (redriven["last_run"]["token"], redriven["attempts"]) == (2, 1)
    assert len(receiver.of(task_id)) == 2


def test_a_call_delivered_twice_delivers_its_task_once(world: World, client: Client) -> None:
    client.register()
    records = calls(world, client)
    assert world.run(records) == []
    assert world.run(again(records)) == []
    assert len(world.received(client.queue_url)) == 1


def test_two_calls_for_one_task_in_one_batch_deliver_it_once(world: World, client: Client) -> None:
    client.register()
    (record,) = calls(world, client)
    twin = record | {"messageId": "another message"}
    assert world.run([record, twin]) == []
    assert len(world.received(client.queue_url)) == 1
    assert set(states(client).values()) == {"SUCCEEDED"}


def test_a_cancelled_task_is_not_delivered(world: World, client: Client) -> None:
    task_id = client.register().body["task_id"]
    client.call("DELETE", f"{TASKS}/{task_id}")
    assert world.run(calls(world, client)) == []
    assert world.received(client.queue_url) == []


def test_a_call_that_came_far_too_soon_is_sent_again_for_its_instant(
    world: World, client: Client, boundary: Boundary
) -> None:
    client.register(delay_seconds=0)
    records = calls(world, client)
    task_id = client.register(delay_seconds=600).body["task_id"]
    task = client.get(f"{TASKS}/{task_id}").body
    due_ms = round(datetime.fromisoformat(task["run_at"]).timestamp() * 1000)
    body = json.loads(records[0]["body"]) | {"dues": [[task_id, 1, due_ms]]}
    boundary.clear()
    assert world.run([records[0] | {"body": json.dumps(body)}]) == []
    ((packet, delay),) = world.sent(boundary.calls, "tasks")
    assert packet.dues[0].id == task_id
    assert timedelta(seconds=580) < delay <= timedelta(seconds=600)


@pytest.mark.parametrize(
    "body",
    [
        "no json",
        "null",
        "[]",
        '{"form":2,"tenant":"t","via":"sweep","dues":[]}',
        '{"form":1,"tenant":"t","via":"sweep","dues":[["x"]]}',
        '{"form":1,"tenant":"t","via":"sweep","dues":[["x",1,"soon"]]}',
        '{"form":1,"tenant":"t","via":"sweep","dues":[["x",1,1e300]]}',
        '{"form":1,"tenant":"t","via":"sweep","dues":[["x",1,100000000000000000000]]}',
    ],
)
def test_an_unreadable_message_fails_alone(world: World, client: Client, body: str) -> None:
    client.register()
    (record,) = calls(world, client)
    unreadable = record | {"messageId": "unreadable", "body": body}
    assert world.run([unreadable, record]) == ["unreadable"]
    assert set(states(client).values()) == {"SUCCEEDED"}


def test_a_message_with_an_id_that_is_none_of_ours_takes_no_other_with_it(
    world: World, client: Client
) -> None:
    client.register()
    (record,) = calls(world, client)
    body = json.loads(record["body"])
    body["dues"] = [["nonsense", 1, 0]]
    world.run([record | {"messageId": "odd", "body": json.dumps(body)}, record])
    assert set(states(client).values()) == {"SUCCEEDED"}


def test_a_task_that_cannot_be_written_now_is_called_again_and_holds_up_no_other(
    world: World, client: Client, boundary: Boundary
) -> None:
    good, bad = (client.register(payload=payload).body["task_id"] for payload in ("good", "bad"))
    records = {json.loads(record["body"])["dues"][0][0]: record for record in calls(world, client)}

    throttled = refusing(world, bad, "ThrottlingError")
    boundary.clear()
    boundary.fail("BatchExecuteStatement", *[throttled] * 99, when=lambda call: call.names(bad))
    assert world.run(records.values()) == []
    assert states(client) == {good: "SUCCEEDED", bad: "PENDING"}
    ((packet, delay),) = world.sent(boundary.calls, "tasks")
    assert [due.id for due in packet.dues] == [bad]
    assert delay <= timedelta(seconds=2)

    boundary.fail("SendMessageBatch", *[unreachable] * 99, when=lambda call: call.names("-tasks"))
    assert world.run(records.values()) == [records[bad]["messageId"]]
    boundary.clear()
    assert world.run(again([records[bad]])) == []
    assert states(client) == {good: "SUCCEEDED", bad: "SUCCEEDED"}
    assert len(world.received(client.queue_url)) == 2


def test_a_batch_that_cannot_be_read_comes_back_whole(
    world: World, client: Client, boundary: Boundary
) -> None:
    for _ in range(2):
        client.register()
    records = calls(world, client)
    boundary.fail("BatchGetItem", *[unreachable] * 99)
    assert sorted(world.run(records)) == sorted(record["messageId"] for record in records)
    boundary.clear()
    assert world.run(again(records)) == []
    assert len(world.received(client.queue_url)) == 2


@pytest.mark.parametrize("state", ["RUNNING", "SUCCEEDED"])
def test_a_change_that_the_table_refuses_for_good_fails_its_message_alone(
    world: World, client: Client, boundary: Boundary, state: str
) -> None:
    good, bad = (client.register(payload=payload).body["task_id"] for payload in ("good", "bad"))
    records = {json.loads(record["body"])["dues"][0][0]: record for record in calls(world, client)}

    wrong = refusing(world, bad, "ValidationError")
    boundary.fail(
        "BatchExecuteStatement", wrong, when=lambda call: call.names(bad) and call.names(f'"{state}"')
    )
    assert world.run(records.values()) == [records[bad]["messageId"]]
    assert states(client) == {good: "SUCCEEDED", bad: "PENDING" if state == "RUNNING" else "RUNNING"}


def test_a_queue_taken_off_the_tenants_list_is_refused_at_the_attempt(world: World, client: Client) -> None:
    task_id = client.register().body["task_id"]
    world.tenants.put(Tenant(id=client.tenant))
    assert world.run(calls(world, client)) == []
    assert states(client) == {task_id: "DEAD"}
    assert world.received(client.queue_url) == []


@pytest.fixture
def slow(world: World, client: Client, receiver: Receiver) -> dict[str, str]:
    """A target whose calls go by the lane for slow destinations."""
    flow = DynamoFlow(table=world.tables["flow"], client=world.dynamodb)
    way = circuit(client.tenant, Destination(type="webhook", address=receiver.url))
    assert flow.change_breaker(way, Breaker(), slowed(Breaker(), now=datetime.now(UTC)))
    return {"type": "webhook", "url": f"{receiver.url}/status/503"}


def test_a_call_to_a_slow_destination_runs_in_its_lane_and_its_retries_stay_there(
    world: World, client: Client, receiver: Receiver, boundary: Boundary, slow: dict[str, str]
) -> None:
    task_id = client.register(target=slow, retry={"initial_seconds": 30, "jitter": False}).body["task_id"]
    assert world.run(calls(world, client)) == []
    assert (receiver.of(task_id), states(client)) == ([], {task_id: "PENDING"})
    (moved,) = world.received(world.queues["slow"], tenant=client.tenant)
    boundary.clear()
    assert world.run([moved]) == []
    assert len(receiver.of(task_id)) == 1
    assert states(client) == {task_id: "RETRYING"}
    assert world.sent(boundary.calls, "tasks") == []
    ((packet, _),) = world.sent(boundary.calls, "slow")
    assert [due.id for due in packet.dues] == [task_id]
    hidden = {request["QueueUrl"] for request in boundary.asked("ChangeMessageVisibilityBatch")}
    assert hidden == {world.queues["slow"]}


def test_a_packet_that_fails_is_hidden_for_one_lease_and_not_for_the_queues_own_time(
    world: World, client: Client, boundary: Boundary
) -> None:
    client.register()
    records = calls(world, client)
    boundary.clear()
    boundary.fail("BatchGetItem", *[unreachable] * 9, when=lambda call: call.names(world.tables["items"]))
    assert world.run(records) == [records[0]["messageId"]]
    (asked,) = boundary.asked("ChangeMessageVisibilityBatch")[-1:]
    assert asked["QueueUrl"] == world.queues["tasks"]
    assert [entry["VisibilityTimeout"] for entry in asked["Entries"]] == [LEASE_SECONDS]


def test_a_letter_from_either_lane_lies_with_the_others(
    world: World, client: Client, slow: dict[str, str]
) -> None:
    task_id = client.register(target=slow, retry={"max_attempts": 1}).body["task_id"]
    assert world.run(calls(world, client)) == []
    assert world.run(world.received(world.queues["slow"], tenant=client.tenant)) == []
    assert states(client) == {task_id: "DEAD"}
    (letter,) = world.received(world.queues["tasks-dlq"], tenant=client.tenant)
    assert json.loads(letter["body"])["dues"][0][0] == task_id
