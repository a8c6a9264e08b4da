"""Buses, topics and FIFO queues: events that a rule finds, messages that subscribers get or that a queue takes once."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import boto3
import pytest

from tests.boundary import Boundary, lost
from tests.integration.conftest import forget
from tests.integration.world import Client, Record, World
from tests.topics import subscribed

TASKS = "/api/v1/tasks"
BUS = "postdate-test-destination"
SEEN = "postdate-test-events"


@pytest.fixture
def bus(world: World, client: Client) -> Callable[[], list[dict[str, Any]]]:
    """The tenant may use a bus; what a rule there found for this tenant is in the answer, the oldest first."""
    events, name = boto3.client("events"), f"{BUS}-{client.tenant}"
    queue_url = world.sqs.create_queue(QueueName=f"{SEEN}-{client.tenant}"[:80])["QueueUrl"]
    arn = world.sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]
    events.create_event_bus(Name=name)
    pattern = json.dumps({"source": ["postdate"], "detail": {"payload": {"n": [1]}}})
    events.put_rule(Name="seen", EventBusName=name, EventPattern=pattern)
    events.put_targets(Rule="seen", EventBusName=name, Targets=[{"Id": "1", "Arn": arn["QueueArn"]}])
    known = world.tenants.get(client.tenant)
    assert known
    world.tenants.put(replace(known, destinations=known.destinations | {("eventbridge", name)}))
    return lambda: [json.loads(record["body"]) for record in world.received(queue_url)]


def to_bus(client: Client, detail_type: str = "Order due") -> dict[str, Any]:
    return {"type": "eventbridge", "bus": f"{BUS}-{client.tenant}", "detail_type": detail_type}


def calls(world: World, client: Client) -> list[Record]:
    return world.received(world.queues["tasks"], tenant=client.tenant)


def test_an_event_reaches_the_rule_that_asks_for_it(
    world: World, client: Client, bus: Callable[[], list[dict[str, Any]]]
) -> None:
    task = client.register(target=to_bus(client)).body
    client.register(target=to_bus(client), payload={"n": 2})
    assert task["target"] == to_bus(client)
    assert world.run(calls(world, client)) == []
    (event,) = bus()
    assert (event["source"], event["detail-type"]) == ("postdate", "Order due")
    assert event["detail"] == {
        "payload": {"n": 1},
        "postdate": {
            "task_id": task["task_id"],
            "run_id": task["task_id"],
            "depth": 1,
            "attempt": 1,
            "token": 1,
            "planned_at": task["run_at"],
            "idempotency_key": task["task_id"],
        },
    }
    assert {each["status"] for each in client.get(TASKS).body["tasks"]} == {"SUCCEEDED"}


@pytest.mark.parametrize("name", ["postdate-test-destination", "default", ""])
def test_a_bus_that_is_not_the_tenants_is_refused(client: Client, name: str) -> None:
    answer = client.register(target=to_bus(client) | {"bus": name})
    assert (answer.status, answer.body["code"]) == (422, "destination_not_allowed")


def test_a_bus_that_is_taken_off_the_list_ends_the_tasks_that_would_go_there(
    world: World, client: Client, bus: Callable[[], list[dict[str, Any]]]
) -> None:
    task_id = client.register(target=to_bus(client)).body["task_id"]
    known = world.tenants.get(client.tenant)
    assert known
    world.tenants.put(replace(known, destinations=frozenset()))
    forget()
    assert world.run(calls(world, client)) == []
    task = client.get(f"{TASKS}/{task_id}").body
    assert (task["status"], task["error"]) == (
        "DEAD",
        "destination not allowed: the bus is not on the tenant's list",
    )
    assert bus() == []


def test_a_message_to_a_topic_reaches_the_queue_that_subscribes(world: World, client: Client) -> None:
    sns, name = boto3.client("sns"), f"postdate-test-topic-{client.tenant}"
    topic = sns.create_topic(Name=name)["TopicArn"]
    queue_url = subscribed(sns, world.sqs, topic, name[:80], RawMessageDelivery="true")
    target = {"type": "sns", "topic_arn": topic}
    assert client.register(target=target).body["code"] == "destination_not_allowed"
    known = world.tenants.get(client.tenant)
    assert known
    world.tenants.put(replace(known, destinations=known.destinations | {("sns", topic)}))
    forget()
    task = client.register(target=target).body
    assert task["target"] == target
    assert world.run(calls(world, client)) == []
    (message,) = world.received(queue_url)
    assert json.loads(message["body"]) == {"n": 1}
    assert message["messageAttributes"]["Postdate-Task-Id"] == task["task_id"]
    assert client.get(f"{TASKS}/{task['task_id']}").body["status"] == "SUCCEEDED"


def test_an_attempt_that_is_repeated_because_its_answer_was_lost_reaches_a_fifo_queue_once(
    world: World, client: Client, boundary: Boundary
) -> None:
    queue_url = world.sqs.create_queue(QueueName=f"{client.tenant}.fifo", Attributes={"FifoQueue": "true"})[
        "QueueUrl"
    ]
    known = world.tenants.get(client.tenant)
    assert known
    world.tenants.put(replace(known, destinations=frozenset({("sqs", queue_url)})))
    retry = {"initial_seconds": 0.1, "max_seconds": 1, "jitter": False}
    task_id = client.register(target={"type": "sqs", "queue_url": queue_url}, retry=retry).body["task_id"]
    boundary.fail("SendMessageBatch", *[lost] * 5, when=lambda call: call.names(queue_url))
    assert world.run(calls(world, client)) == []
    stored = client.get(f"{TASKS}/{task_id}").body
    assert (stored["status"], stored["error"]) == ("RETRYING", "sqs did not answer")
    assert world.run(calls(world, client)) == []
    stored = client.get(f"{TASKS}/{task_id}").body
    assert (stored["status"], stored["attempts"]) == ("SUCCEEDED", 2)
    (message,) = world.received(queue_url)
    assert message["messageAttributes"]["Postdate-Attempt"] == "1"
    assert message["attributes"]["MessageGroupId"] == task_id
