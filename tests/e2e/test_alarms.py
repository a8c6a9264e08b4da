"""Faults on the local stack, and the alarms that the metrics really emitted give."""

import os
import signal
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from cli import tenants
from cli.alarms import firing_locally
from cli.local import aws
from infra.environments import LOCAL
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver
from tests.e2e.test_survival import workers

PATIENCE_SECONDS: Final = 40
NOBODY_LISTENS: Final = {"type": "webhook", "url": "http://127.0.0.1:9/"}
_SAME: Final = ("severity", "meaning", "runbook")
SCOPES: Final = frozenset({"admin", "accounts:read", "payments:read", "payments:write"})


def alarm(stack: RunningStack, name: str) -> dict[str, str]:
    """The alarm's message once it fires."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = {each["alarm"]: each for each in firing_locally(LOCAL, stack.aws, datetime.now(UTC))}
        if name in found or time.monotonic() > deadline:
            return found[name]
        time.sleep(1)


def shown_to_operators(stack: RunningStack, name: str) -> dict[str, str]:
    """The alarm in the operators' overview, which keeps what it read for some seconds."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        overview = stack.client(stack.operator_key).get("/api/v1/ops/overview").expect(200)
        found: dict[str, dict[str, str]] = {each["alarm"]: each for each in overview["alarms"]}
        if name in found or time.monotonic() > deadline:
            return found[name]
        time.sleep(1)


def fires_and_is_shown(stack: RunningStack, name: str) -> dict[str, str]:
    """The alarm's message once it fires. Operators see the same in their overview."""
    told = alarm(stack, name)
    shown = shown_to_operators(stack, name)
    assert {each: shown[each] for each in _SAME} == {each: told[each] for each in _SAME}
    return told


def test_a_destination_that_is_down_fires_its_alarm(stack: RunningStack) -> None:
    retry = {"max_attempts": 20, "initial_seconds": 0.1, "multiplier": 1, "max_seconds": 1}
    tasks = [{"delay_seconds": 0, "target": NOBODY_LISTENS, "retry": retry}] * 12
    results = stack.client().post("/api/v1/tasks/batch", {"tasks": tasks}).expect(200)["results"]
    try:
        told = fires_and_is_shown(stack, "destination_down")
        assert told["runbook"] == "docs/runbook.md#destination_down"
    finally:
        for result in results:
            stack.client().delete(f"/api/v1/tasks/{result['task']['task_id']}")


def test_workers_that_are_killed_fire_their_alarm(stack: RunningStack, receiver: Receiver) -> None:
    """The next worker finds the leases of those that are gone."""
    target = {"type": "webhook", "url": f"{receiver.url}/hang-once"}
    tasks = [{"delay_seconds": 0, "target": target}] * 4
    results = stack.client().post("/api/v1/tasks/batch", {"tasks": tasks}).expect(200)["results"]
    ids = [result["task"]["task_id"] for result in results]
    for id in ids:
        receiver.wait_for(id)
    for pid in workers(stack, "run-tasks"):
        os.kill(pid, signal.SIGKILL)
    for id in ids:
        receiver.wait_for(id, 2, seconds=90)
    assert fires_and_is_shown(stack, "workers_die")["runbook"] == "docs/runbook.md#leases_expire"


def test_a_sweep_that_is_stopped_fires_its_alarm(stack: RunningStack) -> None:
    """The alarm needs three minutes without a wake-up, and CloudWatch also looks at some minutes before them. They are
    not waited for: once the sweep is seen to be stopped, the alarms are evaluated as they will be then."""
    lambdas = stack.aws("lambda")
    (mapping,) = lambdas.list_event_source_mappings(FunctionName="postdate-local-sweep")[
        "EventSourceMappings"
    ]
    assert "timer_down" not in firing(stack, datetime.now(UTC))
    lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        last = wake_ups(stack)
        while (found := wake_ups(stack, seconds=2.5 * LOCAL.settings.tick_seconds)) != last:
            last = found
        assert "timer_down" in firing(stack, datetime.now(UTC) + timedelta(minutes=7))
    finally:
        lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while wake_ups(stack) == last and time.monotonic() < deadline:
        time.sleep(1)
    assert wake_ups(stack) > last


def firing(stack: RunningStack, at: datetime) -> set[str]:
    return {each["alarm"] for each in firing_locally(LOCAL, stack.aws, at)}


def wake_ups(stack: RunningStack, *, seconds: float = 0) -> int:
    """Lines of metrics that the sweep has written, after so many seconds."""
    time.sleep(seconds)
    pages = (
        stack.aws("logs")
        .get_paginator("filter_log_events")
        .paginate(logGroupName="/aws/lambda/postdate-local-sweep", filterPattern='"WakeUps"')
    )
    return sum(len(page["events"]) for page in pages)


def test_a_damaged_balance_fires_its_alarm_and_is_repaired(stack: RunningStack) -> None:
    """A foreign program takes what an account holds for a payment."""
    with aws.speaking_to(stack.place):
        tenants.tenant(stack.tables["tenants"], "damaged", vault=stack.vault)
        client = stack.client(tenants.key(stack.key_table, "damaged", SCOPES))
    for name in ("payer", "payee"):
        client.post("/api/v1/accounts", {"account_id": name}).expect(201)
    client.post("/api/v1/accounts/payer/deposits", {"amount": 100}, **{"Idempotency-Key": "d"}).expect(201)
    form = {"from_account_id": "payer", "to_account_id": "payee", "amount": 60, "delay_seconds": 4}
    payment = client.post("/api/v1/payments/schedule", form, **{"Idempotency-Key": "p"}).expect(201)
    reserve(stack, 0)
    assert fires_and_is_shown(stack, "balance_inconsistency")["severity"] == "page"

    reserve(stack, 60)
    path = f"/api/v1/payments/{payment['payment_id']}"
    deadline = time.monotonic() + PATIENCE_SECONDS
    while client.get(path).expect(200)["status"] != "COMPLETED" and time.monotonic() < deadline:
        time.sleep(0.2)
    assert client.get(path).expect(200)["status"] == "COMPLETED"


def reserve(stack: RunningStack, amount: int) -> None:
    stack.aws("dynamodb").update_item(
        TableName=stack.tables["accounts"],
        Key={"account": {"S": "damaged#payer"}},
        UpdateExpression="SET #reserved = :amount",
        ExpressionAttributeNames={"#reserved": "reserved"},
        ExpressionAttributeValues={":amount": {"N": str(amount)}},
    )
