"""Logs after the fact: lines of level INFO, and the way from a request's id to its line."""

import json
import time
from typing import Any, Final

from cli import tenants
from cli.local import aws
from tests.e2e.conftest import RunningStack

PATIENCE_SECONDS: Final = 20
NOBODY_LISTENS: Final = {"type": "webhook", "url": "http://127.0.0.1:9/"}


def lines(stack: RunningStack, function: str, text: str) -> list[dict[str, Any]]:
    """The JSON lines of a function's log that hold this text, as soon as there is one."""
    logs = stack.aws("logs")
    deadline = time.monotonic() + PATIENCE_SECONDS
    found: list[dict[str, Any]] = []
    while not found and time.monotonic() < deadline:
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=f"/aws/lambda/postdate-local-{function}", filterPattern=f'"{text}"'
        )
        found = [
            json.loads(event["message"])
            for page in pages
            for event in page["events"]
            if event["message"].startswith("{")
        ]
        time.sleep(0.1)
    return found


def test_the_id_of_a_request_leads_to_its_line(stack: RunningStack) -> None:
    answer = stack.client().get("/api/v1/tasks/task_0")
    (line,) = lines(stack, "api", answer.body["request_id"])
    assert line["request_id"] == answer.body["request_id"]
    assert (line["status"], line["method"], line["path"]) == (404, "GET", "/api/v1/tasks/task_0")
    assert line["tenant"] == "demo"


def test_a_failed_attempt_leaves_a_line_of_level_info(stack: RunningStack) -> None:
    body = {"delay_seconds": 0, "target": NOBODY_LISTENS, "retry": {"max_attempts": 1}}
    task_id = stack.client().post("/api/v1/tasks", body).expect(201)["task_id"]
    told = lines(stack, "run-tasks", task_id)
    assert [line["level"] for line in told if line["task"] == task_id] == ["INFO"]


def test_a_payment_is_followed_from_its_request_to_its_end(stack: RunningStack) -> None:
    """The request's id leads to the payment's, and that to the outcome."""
    client = stack.client(stack.admin_key)
    for name in ("followed-payer", "followed-payee"):
        client.post("/api/v1/accounts", {"account_id": name}).expect(201)
    paid = {"amount": 10}
    client.post("/api/v1/accounts/followed-payer/deposits", paid, **{"Idempotency-Key": "fd"}).expect(201)
    form = {
        "from_account_id": "followed-payer",
        "to_account_id": "followed-payee",
        "amount": 10,
        "delay_seconds": 1,
    }
    made = stack.client().post("/api/v1/payments/schedule", form, **{"Idempotency-Key": "fp"}).expect(201)
    (scheduled,) = [
        line for line in lines(stack, "api", made["payment_id"]) if line.get("action") == "payment_scheduled"
    ]
    assert scheduled["request_id"]
    (ended,) = [
        line
        for line in lines(stack, "settle", made["payment_id"])
        if line.get("action") == "payment_executed"
    ]
    assert ended["status"] == "COMPLETED"


def test_the_decisions_about_a_traced_tenant_are_logged_without_a_deployment(stack: RunningStack) -> None:
    with aws.speaking_to(stack.place):
        table = stack.tables["tenants"]
        tenants.tenant(
            table, "traced", vault=stack.vault, destinations=[("sqs", stack.destination_queue_url)]
        )
        tenants.log_share(table, "traced", 1)
        scopes = frozenset({"tasks:read", "tasks:write"})
        client = stack.client(tenants.key(stack.key_table, "traced", scopes))
    target = {"type": "sqs", "queue_url": stack.destination_queue_url}
    id = client.post("/api/v1/tasks", {"delay_seconds": 0, "target": target}).expect(201)["task_id"]
    told = [line["action"] for line in lines(stack, "run-tasks", id) if line.get("task") == id]
    assert told == ["claimed", "became_succeeded"]
