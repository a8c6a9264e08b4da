"""No row, message or answer has a signing secret or a header's value, and each delivery has them."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from functions.api.wiring import wired
from functions.run_tasks.wiring import wired as workers
from postdate.stores.data_keys import KmsDataKeys
from postdate.stores.vault import Vault
from tests.e2e.receiver import Receiver
from tests.integration.world import SIGNING_SECRET, Client, World, in_base64

TOKEN = "Bearer receivers-own-token"
HEADERS = {"Authorization": TOKEN, "X-Empty": ""}


def rows(world: World, tenant: str) -> str:
    """All rows of all tables that name the tenant."""
    found = [
        row
        for table in world.tables.values()
        for page in world.dynamodb.get_paginator("scan").paginate(TableName=table)
        for row in page["Items"]
    ]
    return repr([row for row in found if tenant in repr(row)])


def target(receiver: Receiver) -> dict[str, Any]:
    return {"type": "webhook", "url": f"{receiver.url}/status/200", "headers": HEADERS}


@pytest.fixture(params=["once", "recurring", "changed", "default target", "plan changed"])
def item(request: pytest.FixtureRequest, client: Client, receiver: Receiver) -> dict[str, Any]:
    """An answer about an item that goes to the receiver."""
    path, to = "/api/v1/tasks", target(receiver)
    match request.param:
        case "once":
            answer = client.register(target=to)
        case "recurring":
            answer = client.register(target=to, cron="* * * * *", delay_seconds=None)
        case "changed":
            made = client.register(delay_seconds=600).body["task_id"]
            answer = client.call("PATCH", f"{path}/{made}", {"target": to})
        case "plan changed":
            made = client.register(cron="* * * * *", delay_seconds=None).body["task_id"]
            answer = client.call("PATCH", f"{path}/{made}", {"target": to})
        case _:
            operator = Client(tenant=client.tenant, scopes="ops", operates=True)
            answer = operator.call("PATCH", f"/api/v1/ops/tenants/{client.tenant}", {"default_target": to})
    assert answer.status in (200, 201), answer.body
    return answer.body


def test_neither_answers_nor_rows_nor_messages_have_a_value(
    item: dict[str, Any], client: Client, world: World
) -> None:
    told = item.get("target") or item["default_target"]
    assert told["headers"].keys() == HEADERS.keys()
    messages = json.dumps(world.received(world.queues["tasks"], tenant=client.tenant))
    for text in (json.dumps(item), messages, rows(world, client.tenant)):
        assert TOKEN not in text
        assert SIGNING_SECRET not in text


def test_a_delivery_has_the_headers_and_a_signature(client: Client, world: World, receiver: Receiver) -> None:
    answer = client.register(target=target(receiver))
    assert answer.body["target"]["headers"]["Authorization"] not in (TOKEN, "***")
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    (call,) = receiver.of(answer.body["task_id"])
    assert {name: call.headers[name.lower()] for name in HEADERS} == HEADERS
    assert "webhook-signature" in call.headers


def test_without_kms_a_request_with_headers_is_refused_for_now_and_others_go_on(
    client: Client, world: World, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = KmsDataKeys(table=world.tables["data_keys"], kms=_no_kms, key_id="none")
    monkeypatch.setattr(wired(), "vault", Vault(data_keys=gone, clock=wired().clock))
    refused = client.register(target=target(receiver))
    assert (refused.status, refused.body["code"]) == (503, "unavailable")
    assert client.register().status == 201


def _no_kms() -> Any:
    raise EndpointConnectionError(endpoint_url="https://kms")


def test_rows_of_an_older_release_are_sealed_while_they_are_used(
    client: Client, world: World, receiver: Receiver
) -> None:
    registered = client.register(target=target(receiver)).body["task_id"]
    stored = workers().tables.tasks.get(registered)
    assert stored is not None
    plain = {"type": "webhook", "address": f"{receiver.url}/status/200", "headers": list(HEADERS.items())}
    slot = stored.home.key
    world.dynamodb.update_item(
        TableName=world.tables["items"],
        Key={"slot": {"S": slot}, "id": {"S": registered}},
        UpdateExpression="SET target = :target",
        ExpressionAttributeValues={":target": {"S": json.dumps(plain, separators=(",", ":"))}},
    )
    assert TOKEN in rows(world, client.tenant)
    assert client.get(f"/api/v1/tasks/{registered}").body["target"]["headers"]["Authorization"] == "***"
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    (call,) = receiver.of(registered)
    assert call.headers["authorization"] == TOKEN
    assert TOKEN not in rows(world, client.tenant)


@pytest.mark.parametrize("change", [lambda event: None, in_base64], ids=["text", "base64"])
def test_the_line_of_a_request_has_the_hash_of_its_body(
    client: Client, capsys: pytest.CaptureFixture[str], change: Callable[[dict[str, Any]], None]
) -> None:
    body = '{"delay_seconds": 600, "ü": "a secret"}'
    capsys.readouterr()
    client.call("POST", "/api/v1/tasks", body, change=change)
    printed = capsys.readouterr().out
    assert hashlib.sha256(body.encode()).hexdigest() in printed
    assert "a secret" not in printed
