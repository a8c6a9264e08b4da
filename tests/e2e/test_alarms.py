"""Faults on the local stack, and the alarms that the metrics really emitted give."""

import time
from datetime import UTC, datetime
from typing import Final

from cli import tenants
from cli.alarms import firing_locally
from cli.local import aws
from infra.environments import LOCAL
from tests.e2e.conftest import RunningStack

PATIENCE_SECONDS: Final = 40
NOBODY_LISTENS: Final = {"type": "webhook", "url": "http://127.0.0.1:9/"}
SCOPES: Final = frozenset({"admin", "accounts:read", "payments:read", "payments:write"})


def alarm(stack: RunningStack, name: str) -> dict[str, str]:
    """What is told of the alarm, once it fires."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        found = {each["alarm"]: each for each in firing_locally(LOCAL, stack.aws, datetime.now(UTC))}
        if name in found or time.monotonic() > deadline:
            return found[name]
        time.sleep(1)


def test_a_destination_that_is_down_fires_its_alarm(stack: RunningStack) -> None:
    retry = {"max_attempts": 20, "initial_seconds": 0.1, "multiplier": 1, "max_seconds": 1}
    tasks = [{"delay_seconds": 0, "target": NOBODY_LISTENS, "retry": retry}] * 12
    results = stack.client().post("/api/v1/tasks/batch", {"tasks": tasks}).expect(200)["results"]
    try:
        assert alarm(stack, "destination_down")["runbook"] == "docs/runbook.md#destination_down"
    finally:
        for result in results:
            stack.client().delete(f"/api/v1/tasks/{result['task']['task_id']}")


def test_a_damaged_balance_fires_its_alarm_and_is_repaired(stack: RunningStack) -> None:
    """A foreign program takes what an account holds for a payment."""
    with aws.speaking_to(stack.place):
        tenants.tenant(stack.tables["tenants"], "damaged")
        client = stack.client(tenants.key(stack.tables["keys"], "damaged", SCOPES))
    for name in ("payer", "payee"):
        client.post("/api/v1/accounts", {"account_id": name}).expect(201)
    client.post("/api/v1/accounts/payer/deposits", {"amount": 100}, **{"Idempotency-Key": "d"}).expect(201)
    form = {"from_account_id": "payer", "to_account_id": "payee", "amount": 60, "delay_seconds": 4}
    payment = client.post("/api/v1/payments/schedule", form, **{"Idempotency-Key": "p"}).expect(201)
    reserve(stack, 0)
    assert alarm(stack, "balance_inconsistency")["severity"] == "page"

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
