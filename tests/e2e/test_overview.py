"""Faults on the local stack show in the overview: at the API, and on the command line."""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any, Final

from cli import tenants
from cli.local import aws
from tests.e2e.conftest import RunningStack, _postdate
from tests.e2e.receiver import Receiver
from tests.e2e.test_alarms import NOBODY_LISTENS, PATIENCE_SECONDS, SCOPES
from tests.e2e.test_survival import workers

# A minute is closed a minute after its end, by a sweep every ten seconds.
COUNTED_SECONDS: Final = 150
STOPPED_SECONDS: Final = 60


def shown(
    stack: RunningStack, is_there: Callable[[dict[str, Any]], bool], *, seconds: float
) -> dict[str, Any]:
    """The operators' overview, once it shows this."""
    operator, deadline = stack.client(stack.operator_key), time.monotonic() + seconds
    while True:
        told: dict[str, Any] = operator.get("/api/v1/ops/overview").expect(200)
        if is_there(told) or time.monotonic() > deadline:
            return told
        time.sleep(0.5)


def test_a_destination_that_is_down_shows_in_the_overview_and_can_be_reset(stack: RunningStack) -> None:
    retry = {"max_attempts": 20, "initial_seconds": 0.1, "multiplier": 1, "max_seconds": 1}
    tasks = [{"delay_seconds": 0, "target": NOBODY_LISTENS, "retry": retry}] * 12
    results = stack.client().post("/api/v1/tasks/batch", {"tasks": tasks}).expect(200)["results"]
    address = "127.0.0.1:9"
    try:
        told = shown(
            stack,
            lambda told: any(each["address"] == address for each in told["destinations"]),
            seconds=PATIENCE_SECONDS,
        )
        (found,) = [each for each in told["destinations"] if each["address"] == address]
        assert (found["tenant"], found["type"]) == ("demo", "webhook")
        assert found["last_error"]
        own = stack.client().get("/api/v1/overview").expect(200)
        assert found["id"] in {each["id"] for each in own["destinations"]}
    finally:
        for result in results:
            stack.client().delete(f"/api/v1/tasks/{result['task']['task_id']}")
    reset = stack.client().post(f"/api/v1/destinations/{found['id']}/reset", {}).expect(200)
    assert reset["state"] in ("CLOSED", "RECOVERING")


def test_a_sweep_that_is_stopped_shows_in_the_overview(stack: RunningStack) -> None:
    client = stack.aws("lambda")
    (mapping,) = client.list_event_source_mappings(FunctionName="postdate-local-sweep")["EventSourceMappings"]
    assert shown(stack, lambda told: told["sweep"]["alive"], seconds=PATIENCE_SECONDS)["sweep"]["alive"]
    client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        told = shown(stack, lambda told: not told["sweep"]["alive"], seconds=STOPPED_SECONDS)
        assert not told["sweep"]["alive"]
        (ticks,) = [each for each in told["queues"] if each["queue"] == "ticks"]
        assert ticks["waiting"] + ticks["delayed"] > 0, "nobody takes what would wake it"
    finally:
        client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    assert shown(stack, lambda told: told["sweep"]["alive"], seconds=PATIENCE_SECONDS)["sweep"]["alive"]


def test_a_worker_that_is_killed_shows_as_a_retry_of_its_minute(
    stack: RunningStack, receiver: Receiver
) -> None:
    with aws.speaking_to(stack.place):
        tenants.tenant(stack.tables["tenants"], "killed", vault=stack.vault)
        key = tenants.key(stack.key_table, "killed", frozenset({"tasks:read", "tasks:write"}))
    target = {"type": "webhook", "url": f"{receiver.url}/hang-once"}
    client = stack.client(key)
    task = client.post("/api/v1/tasks", {"delay_seconds": 0, "target": target}).expect(201)
    assert len(receiver.wait_for(task["task_id"])) == 1
    for pid in workers(stack, "run-tasks"):
        os.kill(pid, signal.SIGKILL)
    receiver.wait_for(task["task_id"], 2, seconds=90)
    deadline = time.monotonic() + COUNTED_SECONDS
    while time.monotonic() < deadline:
        minutes = client.get("/api/v1/overview").expect(200)["minutes"]
        if found := [each["tasks"] for each in minutes if each["tasks"]["due"]]:
            break
        time.sleep(1)
    assert [(each["due"], each["retried"]) for each in found] == [(1, 1)]


def test_a_damaged_balance_shows_in_the_overview_of_the_command_line(stack: RunningStack) -> None:
    with aws.speaking_to(stack.place):
        tenants.tenant(stack.tables["tenants"], "corrupted", vault=stack.vault)
        client = stack.client(tenants.key(stack.key_table, "corrupted", SCOPES))
    for name in ("payer", "payee"):
        client.post("/api/v1/accounts", {"account_id": name}).expect(201)
    client.post("/api/v1/accounts/payer/deposits", {"amount": 100}, **{"Idempotency-Key": "d"}).expect(201)
    form = {"from_account_id": "payer", "to_account_id": "payee", "amount": 60, "delay_seconds": 4}
    payment = client.post("/api/v1/payments/schedule", form, **{"Idempotency-Key": "p"}).expect(201)
    reserve(stack, 0)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while "balance_inconsistency" not in (told := _postdate(stack.place, "overview")):
            assert time.monotonic() < deadline, told
        firing = {each["alarm"]: each for each in json.loads(told)["firing"]}
        assert firing["balance_inconsistency"]["severity"] == "page"
    finally:
        reserve(stack, 60)
    path, deadline = f"/api/v1/payments/{payment['payment_id']}", time.monotonic() + PATIENCE_SECONDS
    while client.get(path).expect(200)["status"] != "COMPLETED" and time.monotonic() < deadline:
        time.sleep(0.2)
    assert client.get(path).expect(200)["status"] == "COMPLETED"


def reserve(stack: RunningStack, amount: int) -> None:
    stack.aws("dynamodb").update_item(
        TableName=stack.tables["accounts"],
        Key={"account": {"S": "corrupted#payer"}},
        UpdateExpression="SET #reserved = :amount",
        ExpressionAttributeNames={"#reserved": "reserved"},
        ExpressionAttributeValues={":amount": {"N": str(amount)}},
    )
