"""Operations through the real handlers: of the API, of `operate` and of `run_tasks`."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest

from functions.operate.handler import handler as operate
from functions.sweep.handler import wired as swept_by
from postdate.domain.operation import STALLED_AFTER
from postdate.stores.definition_row import author_in
from tests.e2e.receiver import Receiver
from tests.engines import Engines, speaking_to
from tests.integration.conftest import SETTINGS
from tests.integration.world import Client, Context, World

_NOTHING = {"StartAt": "Over", "States": {"Over": {"Type": "Succeed"}}}
_SCOPES = "tasks:read tasks:write operations:write"


@pytest.fixture
def machine(engine: Engines) -> Iterator[Any]:
    """In the place of the deployed one: its executions do nothing."""
    with speaking_to(engine):
        client, iam = boto3.client("stepfunctions"), boto3.client("iam")
    role = iam.create_role(RoleName="machine", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
    arn = client.create_state_machine(
        name=SETTINGS["OPERATION_MACHINE_ARN"].rpartition(":")[2],
        definition=json.dumps(_NOTHING),
        roleArn=role,
    )["stateMachineArn"]
    assert arn == SETTINGS["OPERATION_MACHINE_ARN"]
    yield client
    client.delete_state_machine(stateMachineArn=arn)
    iam.delete_role(RoleName="machine")


@pytest.fixture
def operator(client: Client) -> Client:
    return Client(tenant=client.tenant, queue_url=client.queue_url, scopes=_SCOPES)


def dead(world: World, client: Client, count: int) -> list[str]:
    """Tasks to a queue that is gone."""
    ids = []
    for _ in range(count):
        target = {"type": "sqs", "queue_url": client.queue_url}
        ids.append(client.register(target=target, retry={"max_attempts": 1}).body["task_id"])
    world.sqs.delete_queue(QueueUrl=client.queue_url)
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    assert {client.get(f"/api/v1/tasks/{id}").body["status"] for id in ids} == {"DEAD"}
    return ids


def asked(ids: list[str], **fields: Any) -> dict[str, Any]:
    return {"action": "redrive", "kind": "tasks", "ids": ids, "reason": "the queue is back"} | fields


def test_a_plan_is_started_carried_out_and_reported(world: World, operator: Client, machine: Any) -> None:
    ids = dead(world, operator, 3)
    planned = operator.call("POST", "/api/v1/operations", asked([*ids, "task_x"]))
    assert (planned.status, planned.body["state"], planned.body["eligible"]["count"]) == (202, "PLANNED", 3)
    assert planned.body["not_eligible"] == [{"reason": "does not exist", "count": 1}]
    id = planned.body["operation_id"]
    started = operator.call("POST", f"/api/v1/operations/{id}/start")
    assert (started.status, started.body["state"]) == (202, "RUNNING")
    executions = machine.list_executions(stateMachineArn=SETTINGS["OPERATION_MACHINE_ARN"])["executions"]
    assert [each["name"] for each in executions if each["name"].startswith(id)] == [f"{id}-1"]

    queue = world.sqs.create_queue(QueueName=operator.queue_url.rpartition("/")[2])
    assert operate({"operation_id": id, "run": 1}, Context())["goes_on"] is True
    assert operator.get(f"/api/v1/operations/{id}").body["sent"] == 3
    world.run(world.received(world.queues["tasks"], tenant=operator.tenant))
    assert operate({"operation_id": id, "run": 1}, Context())["goes_on"] is False
    told = operator.get(f"/api/v1/operations/{id}").body
    assert (told["state"], told["done"], told["actor"]) == ("DONE", 3, operator.key_id)
    items = operator.get(f"/api/v1/operations/{id}/items").body
    assert [item["item_id"] for item in items["items"]] == sorted(ids)
    assert {item["outcome"] for item in items["items"]} == {"done"}
    assert len(world.received(queue["QueueUrl"])) == 3
    assert operator.get("/api/v1/operations").body["operations"] == [told]
    tags = [each.headers["etag"] for each in (planned, started, operator.get(f"/api/v1/operations/{id}"))]
    assert tags == [f'"{version}"' for version in (1, started.body["version"], told["version"])]


def test_plans_are_paused_and_resumed_by_a_filter(world: World, operator: Client, machine: Any) -> None:
    target = {"type": "sqs", "queue_url": operator.queue_url}
    ids = [
        operator.register(target=target, cron="0 3 * * *", tags=["nightly"], delay_seconds=None).body[
            "task_id"
        ]
        for _ in range(3)
    ]

    def carried_out(action: str) -> dict[str, Any]:
        asked = {"action": action, "kind": "plans", "filter": {"tag": "nightly"}, "reason": "maintenance"}
        planned = operator.call("POST", "/api/v1/operations", asked | {"dry_run": False})
        assert (planned.status, planned.body["eligible"]["count"]) == (202, 3), planned.body
        assert (
            operate({"operation_id": planned.body["operation_id"], "run": 1}, Context())["goes_on"] is False
        )
        told: dict[str, Any] = operator.get(f"/api/v1/operations/{planned.body['operation_id']}").body
        return told

    def statuses() -> set[str]:
        return {operator.get(f"/api/v1/tasks/{id}").body["status"] for id in ids}

    paused = carried_out("pause")
    assert (paused["state"], paused["done"], statuses()) == ("DONE", 3, {"PAUSED"})
    (row,) = (each for each in world.rows(world.tables["items"]) if each["id"] == {"S": ids[0]})
    assert author_in(row) == f"operation:{paused['operation_id']}"
    assert carried_out("resume")["done"] == 3
    assert statuses() == {"ACTIVE"}
    assert carried_out("cancel")["done"] == 3
    assert statuses() == {"CANCELLED"}


def test_a_filter_of_plans_names_no_instant_and_no_failure(operator: Client) -> None:
    for field in ({"failure": "http 503"}, {"from": "2026-11-18T10:00:00Z"}, {"account_id": "a"}):
        asked = {"action": "pause", "kind": "plans", "filter": field, "reason": "maintenance"}
        assert operator.call("POST", "/api/v1/operations", asked).status == 422
    redriven = {"action": "redrive", "kind": "plans", "ids": ["task_x"], "reason": "maintenance"}
    assert operator.call("POST", "/api/v1/operations", redriven).status == 422


def test_items_come_in_pages_of_no_more_than_asked_for(world: World, operator: Client, machine: Any) -> None:
    given = {"delay_seconds": 3600, "target": operator.target}
    made = operator.call("POST", "/api/v1/tasks/batch", {"tasks": [given] * 60}).body["results"]
    ids = sorted(each["task"]["task_id"] for each in made)
    planned = operator.call("POST", "/api/v1/operations", asked(ids, action="cancel")).body
    path = f"/api/v1/operations/{planned['operation_id']}/items"
    assert len(operator.get(path).body["items"]) == 20
    for limit in (7, 25, 30, 60, 100):
        found, cursor = list[list[str]](), ""
        while True:
            page = operator.get(path, f"limit={limit}{cursor}").body
            found.append([each["item_id"] for each in page["items"]])
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        assert [id for each in found for id in each] == ids
        assert {len(each) for each in found[:-1]} <= {limit}
        assert 0 < len(found[-1]) <= limit
    _, mark = json.loads(urlsafe_b64decode(operator.get(path).body["next_cursor"]))
    for place in ("x", "-1", "1" * 10):
        forged = urlsafe_b64encode(json.dumps([place, mark]).encode()).decode()
        assert operator.get(path, f"cursor={forged}").status == 422


def test_another_tenant_neither_sees_nor_changes_it(world: World, operator: Client, machine: Any) -> None:
    ids = dead(world, operator, 1)
    id = operator.call("POST", "/api/v1/operations", asked(ids)).body["operation_id"]
    other = Client(tenant="another", scopes=_SCOPES)
    assert other.call("POST", "/api/v1/operations", asked(ids)).body["eligible"]["count"] == 0
    for method, path in (
        ("GET", ""),
        ("GET", "/items"),
        ("POST", "/start"),
        ("POST", "/stop"),
        ("POST", "/resume"),
    ):
        assert other.call(method, f"/api/v1/operations/{id}{path}").status == 404
    assert id not in json.dumps(other.get("/api/v1/operations").body)


def test_an_operation_needs_its_scope(client: Client) -> None:
    writer = Client(tenant=client.tenant, scopes="tasks:read tasks:write")
    assert writer.call("POST", "/api/v1/operations", asked(["task_x"])).status == 403


def test_a_machine_that_cannot_be_started_leaves_the_plan_as_it_was(world: World, operator: Client) -> None:
    ids = dead(world, operator, 1)
    id = operator.call("POST", "/api/v1/operations", asked(ids)).body["operation_id"]
    assert operator.call("POST", f"/api/v1/operations/{id}/start").status == 503
    assert operator.get(f"/api/v1/operations/{id}").body["state"] == "PLANNED"
    stopped = operator.call("POST", f"/api/v1/operations/{id}/stop").body
    assert (stopped["state"], stopped["stopped_because"]) == (
        "STOPPED",
        f"stopped by the key {operator.key_id}",
    )


def letters_of(world: World, client: Client, query: str = "limit=100") -> Any:
    """Letters of this tenant, as an operator sees them."""
    operator = Client(tenant=client.tenant, scopes="ops", operates=True)
    told = operator.get("/api/v1/ops/dlq/tasks", query)
    assert told.status == 200, told.body
    return told.body


def of(client: Client, told: Any) -> dict[str, Any]:
    return {each["item_id"]: each for each in told["letters"] if each["tenant"] == client.tenant}


def test_the_sweep_continues_an_operation_whose_execution_is_over(
    world: World, operator: Client, machine: Any
) -> None:
    ids = dead(world, operator, 1)
    id = operator.call("POST", "/api/v1/operations", asked(ids, dry_run=False)).body["operation_id"]
    (row,) = (
        each
        for each in world.rows(world.tables["operations"])
        if each["operation"]["S"] == id and each["place"]["S"] == "head"
    )
    earlier = int(row["changed"]["N"]) - STALLED_AFTER // timedelta(milliseconds=1)
    world.dynamodb.put_item(
        TableName=world.tables["operations"], Item={**row, "changed": {"N": str(earlier)}}
    )
    swept_by().stalled._looked_at = None
    assert world.sweep({"kind": "tick"}) == []
    executions = machine.list_executions(stateMachineArn=SETTINGS["OPERATION_MACHINE_ARN"])["executions"]
    assert f"{id}-2" in {each["name"] for each in executions}
    assert operator.get(f"/api/v1/operations/{id}").body["state"] == "RUNNING"


def test_a_letter_tells_of_its_item_and_goes_after_the_redrive(
    world: World, operator: Client, machine: Any
) -> None:
    ids = dead(world, operator, 2)
    told = of(operator, letters_of(world, operator))
    assert set(told) == set(ids)
    one = told[ids[0]]
    assert (one["status"], one["attempts"], one["destination"]) == ("DEAD", 1, operator.queue_url)
    assert one["error"]
    assert [line["status"] for line in one["history"]] == ["PENDING", "RUNNING", "DEAD"]
    groups = letters_of(world, operator, "group=failure")["groups"]
    assert [group["count"] for group in groups if group["destination"] == operator.queue_url] == [2]

    world.sqs.create_queue(QueueName=operator.queue_url.rpartition("/")[2])
    begun = operator.call("POST", "/api/v1/operations", asked(ids[:1], dry_run=False)).body
    operate({"operation_id": begun["operation_id"], "run": 1}, Context())
    world.run(world.received(world.queues["tasks"], tenant=operator.tenant))
    operate({"operation_id": begun["operation_id"], "run": 1}, Context())
    assert set(of(operator, letters_of(world, operator))) == {ids[1]}


def test_a_discarded_letter_is_gone_and_its_task_stays_dead(
    world: World, operator: Client, machine: Any
) -> None:
    ids = dead(world, operator, 2)
    begun = operator.call("POST", "/api/v1/operations", asked(ids[:1], action="discard", dry_run=False)).body
    operate({"operation_id": begun["operation_id"], "run": 1}, Context())
    assert set(of(operator, letters_of(world, operator))) == {ids[1]}
    assert operator.get(f"/api/v1/tasks/{ids[0]}").body["status"] == "DEAD"


def test_letters_are_for_operators(world: World, client: Client) -> None:
    assert client.get("/api/v1/ops/dlq/tasks").status == 403
    someone = Client(tenant=client.tenant, scopes="ops", operates=True)
    assert someone.get("/api/v1/ops/dlq/unknown").status == 404
    assert someone.get("/api/v1/ops/dlq/tasks").body["next_cursor"] is None
    assert someone.get("/api/v1/ops/dlq/tasks", "group=failure").body["next_cursor"] is None
    for wrong in ("group=tenant", "tenant=x", "cursor=x"):
        refused = someone.get("/api/v1/ops/dlq/tasks", wrong)
        assert [each["field"] for each in refused.body["errors"]] == [wrong.partition("=")[0]]


def test_waiting_tasks_are_cancelled_and_payments_are_no_kind_to_discard(
    world: World, operator: Client, machine: Any
) -> None:
    id = operator.register(delay_seconds=3600).body["task_id"]
    begun = operator.call("POST", "/api/v1/operations", asked([id], action="cancel", dry_run=False)).body
    assert operate({"operation_id": begun["operation_id"], "run": 1}, Context())["goes_on"] is False
    assert operator.get(f"/api/v1/tasks/{id}").body["status"] == "CANCELLED"
    refused = operator.call("POST", "/api/v1/operations", asked([id], action="discard", kind="payments"))
    assert (refused.status, refused.body["code"]) == (422, "validation_failed")


def test_an_operation_on_payments_is_shown_and_stopped_by_keys_of_payments_alone(
    world: World, client: Client, machine: Any
) -> None:
    whole = Client(tenant=client.tenant, scopes=f"{_SCOPES} payments:read payments:write")
    other = Client(tenant=client.tenant, scopes=_SCOPES)
    planned = whole.call("POST", "/api/v1/operations", asked(["pay_x"], kind="payments", action="cancel"))
    id = planned.body["operation_id"]
    for method, path in (("GET", ""), ("GET", "/items"), ("POST", "/start"), ("POST", "/stop")):
        assert other.call(method, f"/api/v1/operations/{id}{path}").status == 403
    assert id in json.dumps(whole.get("/api/v1/operations").body)
    assert id not in json.dumps(other.get("/api/v1/operations").body)
    assert whole.get(f"/api/v1/operations/{id}/items").status == 200


def test_a_sixth_operation_of_a_tenant_waits(world: World, operator: Client, machine: Any) -> None:
    ids = [operator.register(delay_seconds=3600).body["task_id"] for _ in range(6)]
    begun = [
        operator.call("POST", "/api/v1/operations", asked([id], action="cancel", dry_run=False)) for id in ids
    ]
    assert [each.status for each in begun] == [202] * 5 + [409]
    assert (begun[5].body["code"], begun[5].body["state"]) == ("invalid_state", "PLANNED")
    assert begun[5].body["detail"].count("op_") == 1


def test_a_redrive_of_dead_letters_in_short_is_an_operation_that_has_begun(
    world: World, operator: Client, machine: Any
) -> None:
    ids = dead(world, operator, 2)
    person = Client(tenant=operator.tenant, scopes="ops", operates=True)
    path = "/api/v1/ops/dlq/tasks/redrive"
    begun = person.call("POST", path, {"ids": ids[:1], "max_per_second": 5})
    assert (begun.status, begun.body["state"], begun.body["action"]) == (202, "RUNNING", "redrive")
    assert (begun.body["eligible"]["count"], begun.body["max_per_second"]) == (1, 5)
    executions = machine.list_executions(stateMachineArn=SETTINGS["OPERATION_MACHINE_ARN"])["executions"]
    assert f"{begun.body['operation_id']}-1" in {each["name"] for each in executions}
    found = person.call("POST", path, {"filter": {"destination": operator.queue_url}})
    assert (found.status, found.body["eligible"]["count"]) == (202, 2)
    refused = {
        "nothing named": ("tasks", {}, 422),
        "a filter of another kind": ("payments", {"filter": {"name": "x"}}, 422),
        "no such queue": ("slow", {"ids": ids}, 404),
    }
    for why, (queue, body, status) in refused.items():
        assert person.call("POST", f"/api/v1/ops/dlq/{queue}/redrive", body).status == status, why
    assert operator.call("POST", path, {"ids": ids}).status == 403


def dead_deliveries(world: World, client: Client, receiver: Receiver, count: int) -> tuple[str, list[str]]:
    """A subscription, and test events that its endpoint refused for good."""
    owner = Client(tenant=client.tenant)
    form = {"target": {"type": "webhook", "url": f"{receiver.url}/hook"}, "types": ["task.dead"]}
    id = owner.call("POST", "/api/v1/subscriptions", form).body["subscription_id"]
    path = f"/api/v1/subscriptions/{id}"
    runs = [owner.call("POST", f"{path}/test").body["run_id"] for _ in range(count)]
    receiver.refuses = True
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    receiver.refuses = False
    assert {run: owner.get(f"/api/v1/runs/{run}").body["status"] for run in runs} == dict.fromkeys(
        runs, "DEAD"
    )
    return id, runs


def test_a_dead_delivery_is_redriven_and_another_one_is_discarded(
    world: World, operator: Client, receiver: Receiver, machine: Any
) -> None:
    subscription, (first, second) = dead_deliveries(world, operator, receiver, 2)
    assert set(of(operator, letters_of(world, operator))) == {first, second}

    def carried_out(**fields: Any) -> dict[str, Any]:
        form = {"action": "redrive", "kind": "tasks", "reason": "it is mended", "dry_run": False} | fields
        begun = operator.call("POST", "/api/v1/operations", form)
        assert (begun.status, begun.body["eligible"]["count"]) == (202, 1), begun.body
        id = begun.body["operation_id"]
        operate({"operation_id": id, "run": 1}, Context())
        world.run(world.received(world.queues["tasks"], tenant=operator.tenant))
        assert operate({"operation_id": id, "run": 1}, Context())["goes_on"] is False
        told: dict[str, Any] = operator.get(f"/api/v1/operations/{id}").body
        return told

    redriven = carried_out(ids=[first])
    assert (redriven["state"], redriven["done"], redriven["failed"]) == ("DONE", 1, 0)
    assert operator.get(f"/api/v1/runs/{first}").body["status"] == "SUCCEEDED"
    assert [each.headers["webhook-id"] for each in receiver.of(subscription)].count(first) == 2
    assert set(of(operator, letters_of(world, operator))) == {second}
    discarded = carried_out(action="discard", filter={"destination": receiver.url})
    assert (discarded["state"], discarded["done"], discarded["missing"]) == ("DONE", 1, 0)
    assert of(operator, letters_of(world, operator)) == {}
    assert operator.get(f"/api/v1/runs/{second}").body["status"] == "DEAD"


def test_deliveries_of_an_ended_subscription_are_not_tried_again_and_may_be_discarded(
    world: World, operator: Client, receiver: Receiver, machine: Any
) -> None:
    subscription, runs = dead_deliveries(world, operator, receiver, 1)
    Client(tenant=operator.tenant).call("DELETE", f"/api/v1/subscriptions/{subscription}")
    for named in ({"ids": runs}, {"ids": None, "filter": {"destination": receiver.url}}):
        planned = operator.call("POST", "/api/v1/operations", asked(runs) | named).body
        assert planned["eligible"]["count"] == 0
        reason = "is a delivery to a subscription that has ended"
        assert planned["not_eligible"] == [{"reason": reason, "count": 1}]
    # Their letters would keep the alarm of dead letters firing.
    assert (
        operator.call("POST", "/api/v1/operations", asked(runs, action="discard")).body["eligible"]["count"]
        == 1
    )
