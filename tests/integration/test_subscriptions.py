"""Subscriptions through the real functions: requests, recorded changes, deliveries to a receiver."""

import json
from typing import Any

import pytest

from functions.record.handler import handler as record
from postdate.targets.facts import sign
from tests.e2e.receiver import Receiver
from tests.integration.test_events import Stream, recorded
from tests.integration.world import Client, Context, World

PATH = "/api/v1/subscriptions"


@pytest.fixture
def payer(client: Client) -> Client:
    client.accounts(alice=100, bob=0)
    return client


def subscribed(client: Client, receiver: Receiver, **fields: Any) -> Any:
    form = {"target": {"type": "webhook", "url": f"{receiver.url}/hook"}, "types": ["payment.*"]} | fields
    made = client.call("POST", PATH, form)
    assert made.status == 201, made.body
    return made.body


def delivered(world: World, client: Client) -> None:
    """All calls of the tenant that wait in the queue."""
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []


def test_an_event_reaches_a_subscriber_with_a_signature_of_its_own(
    world: World, payer: Client, receiver: Receiver
) -> None:
    stream = Stream(world, payer)
    made = subscribed(payer, receiver, filter={"account_id": "bob", "metadata": {"shop": "north"}})
    payer.pay(key="a", delay_seconds=3600, metadata={"shop": "north"})
    payer.pay(key="b", delay_seconds=3600, metadata={"shop": "south"})
    records = stream.records()
    assert recorded(records) == []
    assert recorded(records) == []
    delivered(world, payer)
    (arrival,) = receiver.of(made["subscription_id"])
    body = json.loads(arrival.body)
    assert body["type"] == "payment.scheduled"
    assert body == payer.get(f"/api/v1/events/{body['event_id']}").body
    headers = arrival.headers
    signature = sign(
        [made["secret"]],
        run_id=headers["webhook-id"],
        timestamp=headers["webhook-timestamp"],
        body=arrival.body,
    )
    assert headers["webhook-signature"] == signature
    (delivery,) = payer.get(f"{PATH}/{made['subscription_id']}/deliveries").body["deliveries"]
    assert (delivery["status"], delivery["event_id"]) == ("SUCCEEDED", body["event_id"])
    assert delivery["run_id"] == headers["webhook-id"]
    assert payer.get(f"/api/v1/runs/{delivery['run_id']}").status == 200


def test_deliveries_are_no_tasks_of_lists_and_no_events(
    world: World, payer: Client, receiver: Receiver
) -> None:
    payments, items = Stream(world, payer), Stream(world, payer, "items")
    id = subscribed(payer, receiver, types=["*"])["subscription_id"]
    payer.pay(key="a", delay_seconds=3600)
    assert recorded(payments.records()) == []
    delivered(world, payer)
    assert recorded(items.records()) == []
    assert len(receiver.of(id)) == 1
    assert payer.get("/api/v1/tasks").body["tasks"] == []
    assert len(payer.get("/api/v1/events").body["events"]) == 1


def test_a_paused_subscription_is_told_nothing_and_an_ended_one_stays_so(
    world: World, payer: Client, receiver: Receiver
) -> None:
    stream = Stream(world, payer)
    id = subscribed(payer, receiver)["subscription_id"]
    paused = payer.call("POST", f"{PATH}/{id}/pause").body
    assert (paused["status"], paused["version"]) == ("PAUSED", 2)
    assert payer.call("POST", f"{PATH}/{id}/pause").body == paused
    payer.pay(key="a", delay_seconds=3600)
    assert recorded(stream.records()) == []
    delivered(world, payer)
    assert receiver.of(id) == []
    assert payer.call("POST", f"{PATH}/{id}/resume").body["status"] == "ACTIVE"
    # The replay, and then the delivery that it makes.
    delivered(world, payer)
    delivered(world, payer)
    assert [json.loads(each.body)["type"] for each in receiver.of(id)] == ["payment.scheduled"]
    ended = payer.call("DELETE", f"{PATH}/{id}").body
    assert (ended["status"], ended["reason"]) == ("ENDED", "deleted")
    assert payer.call("DELETE", f"{PATH}/{id}").body == ended
    assert payer.call("POST", f"{PATH}/{id}/resume").status == 409
    assert payer.call("PATCH", f"{PATH}/{id}", {"ordered": False}).status == 409


def test_a_subscription_is_told_events_from_before_it_was_made(
    world: World, payer: Client, receiver: Receiver
) -> None:
    stream = Stream(world, payer)
    payer.pay(key="a", delay_seconds=3600)
    assert recorded(stream.records()) == []
    id = subscribed(payer, receiver)["subscription_id"]
    form = {"since": "2026-01-01T00:00:00Z", "types": ["payment.scheduled"]}
    for _ in range(2):
        assert payer.call("POST", f"{PATH}/{id}/replay", form).status == 202
        delivered(world, payer)
        delivered(world, payer)
    assert len(receiver.of(id)) == 1


def test_a_subscription_changes_and_its_secret_rotates(
    world: World, payer: Client, receiver: Receiver
) -> None:
    made = subscribed(payer, receiver, description="billing")
    path = f"{PATH}/{made['subscription_id']}"
    assert payer.call("PATCH", path, {}).status == 422
    changed = payer.call("PATCH", path, {"types": ["task.dead"], "description": None}).body
    assert (changed["types"], changed["description"], changed["version"]) == (["task.dead"], None, 2)
    assert payer.get(path).body == changed
    assert payer.get(PATH).body["subscriptions"] == [changed]
    rotated = payer.call("POST", f"{path}/rotate", {"overlap_seconds": 60}).body
    assert rotated["secret"] not in (None, made["secret"])
    assert rotated["previous_until"] is not None
    assert made["secret"] not in json.dumps(payer.get(PATH).body)
    rows = world.rows(world.tables["subscriptions"])
    assert "whsec_" not in json.dumps(rows)


def test_a_test_event_goes_to_the_target(world: World, payer: Client, receiver: Receiver) -> None:
    id = subscribed(payer, receiver, types=["task.dead"])["subscription_id"]
    sent = payer.call("POST", f"{PATH}/{id}/test")
    assert (sent.status, sent.body["status"], sent.body["event_id"]) == (202, "PENDING", None)
    delivered(world, payer)
    (arrival,) = receiver.of(id)
    assert json.loads(arrival.body)["type"] == "subscription.test"


def test_an_endpoint_that_answers_410_ends_its_subscription(
    world: World, payer: Client, receiver: Receiver
) -> None:
    target = {"type": "webhook", "url": f"{receiver.url}/status/410"}
    id = subscribed(payer, receiver, target=target, types=["task.dead"])["subscription_id"]
    assert payer.call("POST", f"{PATH}/{id}/test").status == 202
    delivered(world, payer)
    ended = payer.get(f"{PATH}/{id}").body
    assert (ended["status"], ended["reason"]) == ("ENDED", "its endpoint answered 410")


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"types": []}, "types"),
        ({"types": ["payment.paid"]}, "types.0"),
        ({"filter": {"acount_id": "bob"}}, "filter.acount_id"),
        ({"target": {"type": "pigeon"}}, "target.type"),
    ],
)
def test_a_subscription_that_could_be_told_nothing_is_refused(
    payer: Client, receiver: Receiver, form: dict[str, Any], field: str
) -> None:
    usual = {"target": {"type": "webhook", "url": f"{receiver.url}/hook"}, "types": ["*"]}
    refused = payer.call("POST", PATH, usual | form)
    assert refused.status == 422
    assert [error["field"] for error in refused.body["errors"]] == [field]


def test_a_destination_that_tasks_may_not_go_to_is_refused(payer: Client) -> None:
    refused = payer.call(
        "POST", PATH, {"target": {"type": "sqs", "queue_url": "https://queue.example/1"}, "types": ["*"]}
    )
    assert (refused.status, refused.body["code"]) == (422, "destination_not_allowed")


def test_a_key_that_may_not_read_events_has_none_sent(payer: Client, receiver: Receiver) -> None:
    writer = Client(tenant=payer.tenant, scopes="subscriptions:write")
    form = {"target": {"type": "webhook", "url": receiver.url}, "types": ["*"]}
    assert writer.call("POST", PATH, form).status == 403
    id = subscribed(payer, receiver)["subscription_id"]
    assert writer.call("PATCH", f"{PATH}/{id}", {"types": ["*"]}).status == 403
    assert writer.call("POST", f"{PATH}/{id}/pause").status == 200


def test_a_tenant_has_a_bounded_number_of_subscriptions_and_sees_no_others(
    world: World, payer: Client, receiver: Receiver
) -> None:
    ids = [subscribed(payer, receiver)["subscription_id"] for _ in range(20)]
    form = {"target": {"type": "webhook", "url": receiver.url}, "types": ["*"]}
    assert payer.call("POST", PATH, form).body["code"] == "limit_exceeded"
    payer.call("DELETE", f"{PATH}/{ids[0]}")
    assert payer.call("POST", PATH, form).status == 201
    other = world.tenant(f"{payer.tenant}-other")
    assert other.get(PATH).body["subscriptions"] == []
    assert other.get(f"{PATH}/{ids[1]}").status == 404


def test_a_change_of_a_subscription_may_name_the_version_that_it_is_for(
    payer: Client, receiver: Receiver
) -> None:
    form = {"target": {"type": "webhook", "url": f"{receiver.url}/hook"}, "types": ["*"]}
    made = payer.call("POST", PATH, form)
    path = f"{PATH}/{made.body['subscription_id']}"
    first = made.headers["etag"]
    assert first == payer.get(path).headers["etag"] == '"1"'
    changed = payer.call("PATCH", path, {"ordered": False}, {"if-match": first})
    assert (changed.status, changed.headers["etag"]) == (200, '"2"')
    # The change is there already: a repeated request is no conflict.
    assert payer.call("PATCH", path, {"ordered": False}, {"if-match": first}).body == changed.body
    for method, body in (("PATCH", {"ordered": True}), ("DELETE", None)):
        late = payer.call(method, path, body, {"if-match": first})
        assert (late.status, late.body["code"]) == (412, "version_conflict")
        assert payer.call(method, path, body, {"if-match": "new"}).status == 422
    assert payer.get(path).body == changed.body
    assert payer.call("POST", f"{path}/pause").headers["etag"] == '"3"'
    assert payer.call("POST", f"{path}/resume").headers["etag"] == '"4"'
    ended = payer.call("DELETE", path, headers={"if-match": "4"})
    assert (ended.body["status"], ended.headers["etag"]) == ("ENDED", '"5"')
    assert payer.call("DELETE", path, headers={"if-match": "4"}).body == ended.body


def test_a_subscription_of_newer_code_holds_up_deliveries_alone(
    world: World, payer: Client, receiver: Receiver
) -> None:
    stream = Stream(world, payer)
    id = subscribed(payer, receiver)["subscription_id"]
    (row,) = [each for each in world.rows(world.tables["subscriptions"]) if each["id"]["S"] == id]
    newer = row | {"id": {"S": "sub_newer"}, "name": {"S": "sub_newer"}, "status": {"S": "UNHEARD_OF"}}
    world.dynamodb.put_item(TableName=world.tables["subscriptions"], Item=newer)
    payer.pay(key="a", delay_seconds=3600)
    assert recorded(stream.records()) == []
    (event,) = payer.get("/api/v1/events").body["events"]
    delivered(world, payer)
    assert receiver.of(id) == []
    keys = {name: newer[name] for name in ("tenant", "id")}
    world.dynamodb.delete_item(TableName=world.tables["subscriptions"], Key=keys)
    assert record({"action": "letters"}, Context())["letters_deleted"] >= 1
    delivered(world, payer)
    (arrival,) = receiver.of(id)
    assert json.loads(arrival.body)["event_id"] == event["event_id"]
