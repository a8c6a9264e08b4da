"""An account is set to what its journal says by a person, and not while an index may be behind."""

import time
from datetime import UTC, datetime

import pytest

from functions.api.accounts.restate import QUIET
from postdate.domain.instants import milliseconds
from tests.boundary import Boundary, answered
from tests.integration.money import assert_sound, balances, calls
from tests.integration.world import Answer, Client, World


@pytest.fixture
def payer(client: Client) -> Client:
    client.accounts(alice=100, bob=0)
    return client


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.body["code"]


def rewritten(world: World, client: Client, **parts: int) -> None:
    """The account `alice`, as no code of ours changes it."""
    world.dynamodb.update_item(
        TableName=world.tables["accounts"],
        Key={"account": {"S": f"{client.tenant}#alice"}},
        UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in parts),
        ExpressionAttributeNames={f"#{name}": name for name in parts},
        ExpressionAttributeValues={f":{name}": {"N": str(value)} for name, value in parts.items()},
    )


def test_indexes_that_are_behind_take_nothing_from_an_account_that_was_just_paid(
    payer: Client, world: World, boundary: Boundary
) -> None:
    """Neither look finds the payment, nor its movement."""
    payer.pay(key="in", from_account_id="bob", to_account_id="alice", funding="at_execution", amount=1)
    payer.call("POST", "/api/v1/accounts/bob/deposits", {"amount": 1}, {"idempotency-key": "first"})
    records = calls(world, payer)
    time.sleep(1.05)
    assert world.settle(records) == []
    before = balances(payer, "alice")
    nothing = answered({"Items": [], "Count": 0, "ScannedCount": 0})
    boundary.fail("Query", *[nothing] * 200, when=lambda call: call.names("by_payee"))
    form = {"to_journal": True, "reason": "the audit names it"}
    answer = payer.call("POST", "/api/v1/accounts/alice/adjustments", form, {"idempotency-key": "k"})
    assert code(answer) == (409, "invalid_state")
    assert "changed at" in answer.body["detail"]
    assert balances(payer, "alice") == before
    boundary.clear()
    assert_sound(payer)


@pytest.mark.parametrize("first", [{"to_journal": True}, {"amount": 5}])
def test_one_key_is_one_adjustment_by_an_amount_or_to_the_journal(
    payer: Client, first: dict[str, object]
) -> None:
    path, second = (
        "/api/v1/accounts/alice/adjustments",
        {"amount": 5} if "amount" not in first else {"to_journal": True},
    )
    told = payer.call("POST", path, {**first, "reason": "r"}, {"idempotency-key": "k"})
    assert told.status == (201 if "amount" in first else 409)
    refused = payer.call("POST", path, {**second, "reason": "r"}, {"idempotency-key": "k"})
    assert code(refused) == (422, "idempotency_key_reused")


def test_what_the_audit_names_is_set_right_by_a_person_and_the_journal_tells_of_it(
    payer: Client, world: World
) -> None:
    """A person wrote into the row beside the ledger: a hold is gone, and a part of the balance."""
    held = payer.pay(key="held", delay_seconds=600).headers["location"]
    assert payer.get("/api/v1/audit").body["ok"]
    rewritten(world, payer, available=70, reserved=0)
    audited = payer.get("/api/v1/audit").body
    assert {check["name"] for check in audited["checks"] if not check["ok"]} == {
        "conservation",
        "reserved_matches_holds",
        "journal_gives_balances",
    }
    refusal = payer.call("POST", f"{held}/cancel")
    assert code(refusal) == (409, "books_disagree")
    assert "/api/v1/accounts/alice/adjustments" in refusal.body["detail"]
    path, form = "/api/v1/accounts/alice/adjustments", {"to_journal": True, "reason": "a slip of the hand"}
    early = payer.call("POST", path, form, {"idempotency-key": "right"})
    assert code(early) == (409, "invalid_state")
    assert "repeat the request when it has not changed for 10 minutes" in early.body["detail"]
    rewritten(world, payer, updated=milliseconds(datetime.now(UTC) - QUIET))
    answer = payer.call("POST", path, form, {"idempotency-key": "right"})
    assert (answer.status, answer.body["type"], answer.body["amount"]) == (201, "ADJUSTMENT", 0)
    assert balances(payer, "alice") == [(90, 10)]
    assert payer.get("/api/v1/audit").body["ok"]
    told = payer.get("/api/v1/accounts/alice/transactions").body["transactions"][-1]
    assert (told["transaction_id"], told["reason"]) == (
        answer.body["transaction_id"],
        "a slip of the hand (available +20, reserved +10)",
    )
    again = payer.call("POST", path, form, {"idempotency-key": "right"})
    assert (again.body, again.headers["idempotent-replayed"]) == (answer.body, "true")
    assert code(payer.call("POST", path, form, {"idempotency-key": "anew"})) == (409, "invalid_state")
    assert payer.call("POST", f"{held}/cancel").body["status"] == "CANCELLED"
