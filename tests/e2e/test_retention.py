"""A finished payment leaves its table on the stack, with the rights of the roles: the machine walks over it two weeks
later, and the API is asked 401 days later."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cli.client import Answer, Client
from cli.local import aws
from postdate.domain import instants
from postdate.domain.slots import home
from postdate.stores.rows import item_key
from postdate.stores.walks import DynamoWalks
from tests.e2e.ahead import ahead
from tests.e2e.conftest import RunningStack
from tests.e2e.test_archive import archive
from tests.e2e.test_payments import ended, pay

DAY = timedelta(days=1)
RECORDED_WITHIN_SECONDS = 120


def rent(client: Client, amount: int = 10) -> Answer:
    told = {"description": "November rent", "metadata": {"order": "4711"}}
    return pay(client, "retained-rent", "retained-a", "retained-b", amount, delay_seconds=1, **told)


def recorded(client: Client, id: str) -> None:
    """Waits until the last event of the payment is in the feed."""
    deadline = time.monotonic() + RECORDED_WITHIN_SECONDS
    query = f"/api/v1/events?subject_id={id}&type=payment.completed"
    while not client.get(query).expect(200)["events"]:
        assert time.monotonic() < deadline
        time.sleep(0.2)


def row_of(stack: RunningStack, id: str) -> dict[str, Any]:
    found = stack.aws("dynamodb").get_item(TableName=stack.tables["payments"], Key=item_key(id))
    row: dict[str, Any] = found.get("Item", {})
    return row


def executed(stack: RunningStack, id: str) -> Answer:
    path = f"/api/v1/internal/payments/{id}/execute"
    form = {"execution_id": "retained-1"}
    return stack.client("").post(path, form, X_Internal_Auth=stack.internal_token)


def test_an_archived_payment_answers_by_id_and_replays_its_key(stack: RunningStack, tmp_path: Path) -> None:
    client, admin = stack.client(), stack.client(stack.admin_key)
    for account in ("retained-a", "retained-b"):
        admin.post("/api/v1/accounts", {"account_id": account}).expect(201)
    path = "/api/v1/accounts/retained-a/deposits"
    admin.post(path, {"amount": 100}, idempotency_key="retained-deposit").expect(201)
    id = rent(client).expect(201)["payment_id"]
    before = ended(client, id)
    assert before["status"] == "COMPLETED"
    recorded(client, id)
    archive(stack, "run", "--today")
    assert archive(stack, "verify")["ok"]

    minute = home(id).minute
    with aws.speaking_to(stack.place):
        walks = DynamoWalks(table=stack.tables["slots"], client=stack.aws("dynamodb"))
        walks.walk_to(minute - 1)
    assert "expires_at" not in row_of(stack, id)
    time_left = instants.start_of(minute + 2) + 14 * DAY - datetime.now(UTC)
    with ahead(stack, tmp_path, "archive", time_left):
        archive(stack, "run")
    row = row_of(stack, id)
    leaves = datetime.fromtimestamp(int(row["expires_at"]["N"]), tz=UTC)
    assert leaves >= instants.end_of(minute) + 400 * DAY - timedelta(seconds=1)
    found = archive(stack, "verify")
    assert (found["ok"], found["payments"]["problems"]) == (True, [])
    assert found["payments"]["payments"] >= 1

    # DynamoDB removes the row then; the engine does not.
    stack.aws("dynamodb").delete_item(TableName=stack.tables["payments"], Key=item_key(id))
    try:
        asked_later(stack, tmp_path, before)
    finally:
        # Today's audit of this tenant, by another test, looks for it.
        stack.aws("dynamodb").put_item(TableName=stack.tables["payments"], Item=row)


def asked_later(stack: RunningStack, tmp_path: Path, before: dict[str, Any]) -> None:
    client, admin, id = stack.client(), stack.client(stack.admin_key), before["payment_id"]
    assert client.get(f"/api/v1/payments/{id}").status == 404
    with ahead(stack, tmp_path, "api", 401 * DAY):
        answer = client.get(f"/api/v1/payments/{id}")
        assert (answer.status, answer.body) == (200, before)
        again = rent(client)
        assert (again.status, again.headers.get("idempotent-replayed")) == (201, "true")
        assert again.body["payment_id"] == id
        assert rent(client, amount=11).body["code"] == "idempotency_key_reused"
        assert client.post(f"/api/v1/payments/{id}/cancel", {}).status == 409
        told = executed(stack, id).expect(200)
        assert told == {"success": True, "execution_id": None, "status": "COMPLETED"}
        other = stack.client(stack.other_tenant_key).get(f"/api/v1/payments/{id}")
        assert other.status == 404
        # The row and no movement is gone, so the books of the tenant agree.
        audit = admin.get("/api/v1/audit").expect(200)
        assert audit["ok"], audit
    balance = client.get("/api/v1/accounts/retained-b").expect(200)["balance"]
    assert balance == 10
