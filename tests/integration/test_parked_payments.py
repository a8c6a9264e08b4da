"""A payment that waits for a person, from its damage to its cancellation, through the real handlers."""

import time

import pytest

from functions.operate.handler import handler as operate
from tests.integration.money import balances, calls
from tests.integration.test_operations import machine  # noqa: F401
from tests.integration.world import Client, Context, World

PATIENCE_SECONDS = 30
SCOPES = "accounts:read admin operations:write payments:read payments:write"


def reserve(world: World, client: Client, amount: int) -> None:
    """A foreign program changes what alice holds."""
    world.dynamodb.update_item(
        TableName=world.tables["accounts"],
        Key={"account": {"S": f"{client.tenant}#alice"}},
        UpdateExpression="SET #reserved = :amount",
        ExpressionAttributeNames={"#reserved": "reserved"},
        ExpressionAttributeValues={":amount": {"N": str(amount)}},
    )


def parked(world: World, client: Client, id: str) -> None:
    """Lets the worker try the payment until its attempts are used up."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while (told := client.get(f"/api/v1/payments/{id}").body)["attempts"] < 3 and time.monotonic() < ends:
        world.settle(calls(world, client))
        time.sleep(0.2)
    assert (told["status"], told["attempts"]) == ("EXECUTING", 3)


pytestmark = pytest.mark.usefixtures("machine")


@pytest.fixture
def payer(client: Client) -> Client:
    own = Client(tenant=client.tenant, queue_url=client.queue_url, scopes=SCOPES)
    own.accounts(alice=100, bob=0)
    return own


def executions(client: Client, id: str, query: str = "") -> tuple[list[str], str | None]:
    told = client.get(f"/api/v1/payments/{id}/executions", query).body
    return [each["execution_id"] for each in told["executions"]], told["next_cursor"]


def test_a_parked_payment_is_a_letter_until_an_operation_cancels_it(world: World, payer: Client) -> None:
    id = payer.pay(key="p").body["payment_id"]
    reserve(world, payer, 0)
    parked(world, payer, id)
    attempts, cursor = executions(payer, id)
    assert (len(attempts), cursor) == (3, None)
    first, cursor = executions(payer, id, "limit=2")
    assert (first, executions(payer, id, f"limit=2&cursor={cursor}")) == (attempts[:2], (attempts[2:], None))
    letters = Client(tenant="none", scopes="ops", operates=True)
    # A look gives its letters back at once.
    for _ in range(2):
        assert id in str(letters.get("/api/v1/ops/dlq/payments", "limit=100").body)
    reserve(world, payer, 10)
    operator = Client(tenant=payer.tenant, scopes="ops operations:write payments:write", operates=True)
    asked = {"action": "cancel", "kind": "payments", "ids": [id], "reason": "nobody wants it"}
    operation = operator.call("POST", "/api/v1/operations", asked).body["operation_id"]
    assert operator.call("POST", f"/api/v1/operations/{operation}/start").status == 202
    ends = time.monotonic() + PATIENCE_SECONDS
    while operate({"operation_id": operation, "run": 1}, Context())["goes_on"] and time.monotonic() < ends:
        time.sleep(0.2)
    assert payer.get(f"/api/v1/payments/{id}").body["status"] == "CANCELLED"
    assert balances(payer, "alice", "bob") == [(100, 0), (0, 0)]
    # A list would delete the letter itself, so the queue is read first.
    assert world.received(world.queues["payments-dlq"], tenant=payer.tenant) == []
    assert id not in str(letters.get("/api/v1/ops/dlq/payments", "limit=100").body)


@pytest.mark.parametrize("action", ["redrive", "retry"])
@pytest.mark.parametrize("by", ["ids", "filter"])
def test_a_parked_payment_is_settled_by_an_operation_that_its_tenant_asks_for(
    world: World, payer: Client, by: str, action: str
) -> None:
    id = payer.pay(key="p").body["payment_id"]
    reserve(world, payer, 0)
    parked(world, payer, id)
    reserve(world, payer, 10)
    named = {"ids": [id]} if by == "ids" else {"filter": {"account_id": "alice"}}
    usual = {"kind": "payments", "reason": "the books agree again"}
    cancel = payer.call("POST", "/api/v1/operations", usual | {"action": "cancel", "ids": [id]}).body
    assert cancel["not_eligible"] == [{"reason": "is parked: only an operator may cancel it", "count": 1}]
    asked = usual | {"action": action, "dry_run": False, **named}
    planned = payer.call("POST", "/api/v1/operations", asked).body
    assert (planned["eligible"]["count"], planned["not_eligible"]) == (1, [])
    assert operate({"operation_id": planned["operation_id"], "run": 1}, Context())["goes_on"] is True
    world.settle(calls(world, payer))
    assert operate({"operation_id": planned["operation_id"], "run": 1}, Context())["goes_on"] is False
    assert payer.get(f"/api/v1/payments/{id}").body["status"] == "COMPLETED"
    assert balances(payer, "alice", "bob") == [(90, 0), (10, 0)]
