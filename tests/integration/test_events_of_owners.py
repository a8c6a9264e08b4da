"""Events of accounts, keys, tenants, subscriptions, flow and operations through the real functions."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from functions.operate.handler import handler as operate
from postdate.domain import breaker as rules
from postdate.domain.breaker import Breaker
from postdate.stores.flow_dynamo import DynamoFlow
from tests.integration.test_events import Stream, recorded
from tests.integration.test_operations import machine as machine
from tests.integration.world import Client, Context, World

_tenants = count(1)
_HOOK = "http://127.0.0.1:9/in?token=hidden-query"


@pytest.fixture
def owner(world: World) -> Client:
    return world.tenant(f"owner-{next(_tenants)}")


def told(world: World, client: Client, table: str, *steps: Any) -> list[dict[str, Any]]:
    """The events of a table's rows, recorded after each step."""
    stream = Stream(world, client, table)
    for step in (lambda: None, *steps):
        step()
        assert recorded(stream.records()) == []
    kinds = {"accounts": ("account",), "keys": ("key",), "tenants": ("tenant", "secret")}
    wanted = kinds.get(table, (table.rstrip("s"), "flow_key", "destination"))
    events = client.get("/api/v1/events", query="limit=100").body["events"]
    return [event for event in events if event["subject"]["kind"] in wanted]


def types(events: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(event["type"], event["sequence"]) for event in events]


def test_an_account_tells_what_administrators_did_and_nothing_that_payments_did(
    world: World, owner: Client
) -> None:
    path = "/api/v1/accounts/rent"

    def money(kind: str, key: str, **form: Any) -> None:
        assert owner.call("POST", f"{path}/{kind}", form, {"idempotency-key": key}).status == 201

    def pay() -> None:
        form = {"from_account_id": "rent", "to_account_id": "other"}
        assert owner.pay(key="p", **form).status == 201

    owner.accounts(other=0)
    told(
        world,
        owner,
        "accounts",
        lambda: owner.accounts(rent=0),
        lambda: money("deposits", "d", amount=100, reference="salary"),
        pay,
        lambda: owner.call("PATCH", path, {"limits": {"amount_max": 50}}),
        lambda: owner.call("POST", f"{path}/freeze", {}),
        lambda: owner.call("POST", f"{path}/freeze", {}),
        lambda: money("adjustments", "a", amount=-7, reason="counted twice"),
        lambda: owner.call("POST", f"{path}/unfreeze", {}),
        lambda: owner.call("POST", "/api/v1/accounts/other/close", {}),
    )
    events = owner.get(f"{path}/events").body["events"]
    assert types(events) == [
        ("account.opened", 1),
        ("account.deposited", 2),
        ("account.limits_changed", 3),
        ("account.frozen", 4),
        ("account.adjusted", 5),
        ("account.unfrozen", 6),
    ]
    assert {(event["actor"]["type"], event["actor"]["id"]) for event in events} == {("key", owner.key_id)}
    deposited, adjusted = events[1]["data"], events[4]["data"]
    assert (deposited["amount"], deposited["reference"]) == (100, "salary")
    assert deposited["before"] == {"balance": 0, "available": 0}
    assert (deposited["after"]["balance"], deposited["transaction_id"][:4]) == (100, "txn_")
    assert (adjusted["amount"], adjusted["reason"]) == (-7, "counted twice")
    assert events[2]["data"]["after"]["limits"] == {"amount_max": 50}
    assert events[0]["subject"] == {"kind": "account", "id": "rent", "account_ids": ["rent"]}
    (closed,) = owner.get("/api/v1/events", query="type=account.closed").body["events"]
    assert closed["subject"]["id"] == "other"
    page = owner.get(f"{path}/events", query="limit=4").body
    rest = owner.get(f"{path}/events", query=f"limit=4&cursor={page['next_cursor']}").body
    assert page["events"] + rest["events"] == events
    assert owner.get("/api/v1/accounts/nobody/events").status == 404
    assert owner.get(f"/api/v1/events/{events[1]['event_id']}").body == events[1]


def test_the_stream_of_an_account_brings_the_recorder_no_payment(world: World, owner: Client) -> None:
    """The mapping's filter lets records with a note pass: a payment takes the note away."""
    owner.accounts(alice=100, bob=0)
    owner.pay(key="p")
    stream = Stream(world, owner, "accounts")
    noted = {
        row["dynamodb"]["Keys"]["account"]["S"]: "note" in row["dynamodb"]["NewImage"]
        for row in stream.records()
    }
    assert noted == {f"{owner.tenant}#alice": False, f"{owner.tenant}#bob": True}


def test_a_key_tells_its_creation_rotation_and_revocation_and_never_its_secret(
    world: World, owner: Client
) -> None:
    made = owner.call("POST", "/api/v1/keys", {"name": "till", "scopes": ["payments:read"]}).body
    path = f"/api/v1/keys/{made['key_id']}"
    texts = [made["key"]]

    def rotate() -> None:
        texts.append(owner.call("POST", f"{path}/rotate", {"overlap_seconds": 60}).body["key"])

    events = told(world, owner, "keys", rotate, lambda: owner.call("DELETE", path))
    of_key = [event for event in events if event["subject"]["id"] == made["key_id"]]
    assert types(of_key) == [("key.created", 1), ("key.rotated", 2), ("key.revoked", 3)]
    assert of_key[0]["data"]["after"]["scopes"] == ["payments:read"]
    assert "replaced_secret_until" in of_key[1]["data"]["after"]
    assert {event["actor"]["id"] for event in of_key} == {owner.key_id}
    row = json.dumps(
        world.dynamodb.get_item(TableName=world.tables["keys"], Key={"key_id": {"S": made["key_id"]}})["Item"]
    )
    hashes = [part for part in row.split('"') if part.startswith("k1.")]
    assert hashes
    for secret in (*hashes, *(text.rpartition("_")[2] for text in texts)):
        assert secret not in json.dumps(events)


def test_a_tenant_tells_its_changes_and_its_secret_is_a_subject_of_its_own(world: World) -> None:
    operator = Client(tenant=f"owner-{next(_tenants)}", operates=True, scopes="ops keys:write events:read")
    path = f"/api/v1/ops/tenants/{operator.tenant}"

    def call(method: str, where: str, form: Any) -> Any:
        answer = operator.call(method, where, form)
        assert answer.status < 300, answer
        return answer

    secrets = [call("POST", "/api/v1/ops/tenants", {"tenant_id": operator.tenant}).body["signing_secret"]]
    events = told(
        world,
        operator,
        "tenants",
        lambda: call("PATCH", path, {"tier": "gold"}),
        lambda: call("POST", f"{path}/suspend", {"pending": "run", "reason": "unpaid"}),
        lambda: secrets.append(
            call("POST", "/api/v1/signing-secrets/rotate", {"overlap_seconds": 60}).body["signing_secret"]
        ),
        lambda: call("POST", f"{path}/resume", {}),
    )
    assert types(events) == [
        ("tenant.created", 1),
        ("tenant.changed", 2),
        ("tenant.suspended", 3),
        ("secret.rotated", 1),
        ("tenant.resumed", 4),
    ]
    assert events[1]["data"]["before"] == {"tier": "standard"}
    assert events[2]["data"]["after"]["suspended_because"] == "unpaid"
    assert {event["actor"]["id"] for event in events} == {operator.key_id}
    for secret in secrets:
        assert secret not in json.dumps(events)


def test_a_subscription_tells_each_version_without_secrets_and_queries(world: World, owner: Client) -> None:
    form = {
        "target": {"type": "webhook", "url": _HOOK, "headers": {"X-Key": "hidden-header"}},
        "types": ["*"],
    }
    made = owner.call("POST", "/api/v1/subscriptions", form).body
    path = f"/api/v1/subscriptions/{made['subscription_id']}"
    events = told(
        world,
        owner,
        "subscriptions",
        lambda: owner.call("PATCH", path, {"types": ["payment.*"]}),
        lambda: owner.call("POST", f"{path}/rotate", {"overlap_seconds": 0}),
        lambda: owner.call("DELETE", path),
    )
    assert types(events) == [
        ("subscription.created", 1),
        ("subscription.changed", 2),
        ("subscription.changed", 3),
        ("subscription.ended", 4),
    ]
    assert events[1]["data"]["before"] == {"types": ["*"]}
    assert events[2]["data"]["rotated"] is True
    written = json.dumps(events)
    for hidden in ("hidden-query", "hidden-header", made["secret"], "s1."):
        assert hidden not in written


def test_a_flow_key_and_a_destination_tell_their_changes(world: World, owner: Client) -> None:
    flow, now = (
        DynamoFlow(table=world.tables["flow"], client=world.dynamodb, author=lambda: "function:run_tasks"),
        datetime.now(UTC),
    )
    way = (owner.tenant, "webhook:https://down.example")
    opened = rules.failed(Breaker(), 10, now=now, error="http 500")
    closed = rules.answered(opened, now=now + timedelta(seconds=30))
    again = rules.failed(closed, 10, now=now + timedelta(minutes=2), error="http 500")
    key = "/api/v1/flow-keys/mail"
    events = told(
        world,
        owner,
        "flow",
        lambda: owner.call("PATCH", key, {"rate": 5, "period_seconds": 1}),
        lambda: owner.call("POST", f"{key}/pause", {}),
        lambda: flow.change_breaker(way, Breaker(), opened),
        lambda: flow.count_behind_breaker(way, 3),
        lambda: flow.change_breaker(way, opened, closed),
        lambda: flow.change_breaker(way, closed, again),
    )
    assert types(events) == [
        ("flow_key.changed", 1),
        ("flow_key.changed", 2),
        ("destination.opened", 1),
        ("destination.closed", 2),
        ("destination.opened", 3),
    ]
    assert events[0]["data"]["after"] == {"rate": 5, "period_seconds": 1}
    assert events[0]["actor"]["id"] == owner.key_id
    assert (events[2]["actor"]["id"], events[2]["subject"]["id"]) == ("run_tasks", way[1])
    assert events[2]["data"]["after"]["state"] == "OPEN"


def test_an_operation_tells_its_start_and_its_end(world: World, owner: Client, machine: Any) -> None:
    task = owner.register(delay_seconds=3600).body["task_id"]
    person = Client(tenant=owner.tenant, operates=True, scopes="ops operations:write tasks:write tasks:read")
    form = {"action": "cancel", "kind": "tasks", "ids": [task], "dry_run": True, "reason": "tidying"}
    made = person.call("POST", "/api/v1/operations", form)
    assert made.status == 202, made
    id = made.body["operation_id"]

    def start() -> None:
        assert person.call("POST", f"/api/v1/operations/{id}/start").status == 202

    def work() -> None:
        while operate({"operation_id": id, "run": 1}, Context())["goes_on"]:
            pass

    events = told(world, owner, "operations", start, work)
    assert types(events) == [("operation.started", 1), ("operation.ended", 2)]
    assert events[0]["actor"] == {"type": "key", "id": person.key_id}
    assert events[0]["data"]["after"]["reason"] == "tidying"
    assert events[1]["actor"] == {"type": "operation", "id": id}
    assert events[1]["data"]["after"]["status"] == "DONE"
