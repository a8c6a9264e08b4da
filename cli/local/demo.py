"""A first payment and a first task, through HTTP to their end: the sign that a stack works."""

import time
from typing import Any, Final
from uuid import uuid4

from cli.client import Client
from cli.failure import Failure
from cli.local.stack import Stack
from cli.progress import step

PAYMENTS: Final = "/api/v1/payments"
TASKS: Final = "/api/v1/tasks"
ACCOUNTS: Final = "/api/v1/accounts"
PAYER: Final = "demo-alice"
PAYEE: Final = "demo-bob"
DEPOSIT: Final = 100_000
AMOUNT: Final = 25
AHEAD_SECONDS: Final = 2
PATIENCE_SECONDS: Final = 30
FINAL: Final = frozenset({"COMPLETED", "FAILED", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"})


def run(stack: Stack) -> list[dict[str, Any]]:
    """Runs a payment and a task, and returns how they fared. Repeated, it finds the accounts there and makes no second
    deposit."""
    with step("running a payment and a task"):
        with Client(stack.api_url, stack.admin_key) as client:
            _provide_accounts(client)
        with Client(stack.api_url, stack.api_key) as client:
            payment, task = _scheduled_payment(client), _registered_task(client, stack)
            payment = _ended(client, f"{PAYMENTS}/{payment['payment_id']}", payment)
            task = _ended(client, f"{TASKS}/{task['task_id']}", task)
    last = task.get("last_run") or {}
    return [
        {"payment_id": payment["payment_id"], "name": "a payment", "planned_at": payment["scheduled_time"]}
        | {name: payment.get(name) for name in ("status", "lateness_ms")},
        {"task_id": task["task_id"], "name": "a task", "status": task["status"]}
        | {name: last.get(name) for name in ("planned_at", "lateness_ms")},
    ]


def _provide_accounts(client: Client) -> None:
    for account in (PAYER, PAYEE):
        client.post(ACCOUNTS, {"account_id": account}).expect(200, 201)
    deposit = client.post(
        f"{ACCOUNTS}/{PAYER}/deposits", {"amount": DEPOSIT}, idempotency_key="demo-first-deposit"
    )
    deposit.expect(200, 201)


def _scheduled_payment(client: Client) -> dict[str, Any]:
    form = {
        "from_account_id": PAYER,
        "to_account_id": PAYEE,
        "amount": AMOUNT,
        "delay_seconds": AHEAD_SECONDS,
        "description": "from Postdate",
    }
    key = f"demo-{uuid4()}"
    payment: dict[str, Any] = client.post(f"{PAYMENTS}/schedule", form, idempotency_key=key).expect(201)
    return payment


def _registered_task(client: Client, stack: Stack) -> dict[str, Any]:
    form = {
        "name": "demo",
        "delay_seconds": AHEAD_SECONDS,
        "target": {"type": "sqs", "queue_url": stack.destination_queue_url},
        "payload": {"hello": "from Postdate"},
    }
    task: dict[str, Any] = client.post(TASKS, form).expect(201)
    return task


def _ended(client: Client, path: str, item: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while item["status"] not in FINAL:
        if time.monotonic() > deadline:
            raise Failure(f"{path} is still {item['status']}.")
        time.sleep(0.1)
        item = client.get(path).expect(200)
    return item
