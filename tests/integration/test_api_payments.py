"""Payments and accounts through the API's handler, over the real engine: each route, and each way to be refused."""

import time
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from cli import tenants
from functions.api.accounts import forecast, forecast_routes
from functions.api.listing import within
from tests.boundary import Boundary, refused, unreachable
from tests.integration.money import assert_sound, balances, calls
from tests.integration.stores import TRANSACTIONS
from tests.integration.world import Answer, Client, World

PAYMENTS = "/api/v1/payments"
UNKNOWN = f"{PAYMENTS}/pay_0wh6jn0000000000000000va"


@pytest.fixture
def payer(client: Client) -> Client:
    client.accounts(alice=100, bob=0)
    return client


def code(answer: Answer) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.body["status"], answer.body["request_id"]) == (answer.status, "request-1")
    return answer.status, answer.body["code"]


def fields(answer: Answer) -> list[str]:
    assert answer.status == 422
    return [error["field"] for error in answer.body["errors"]]


def test_a_scheduled_payment_holds_its_money_and_is_read_and_listed_alike(payer: Client) -> None:
    asked = {"description": "November", "metadata": {"month": "11"}, "delay_seconds": 600}
    answer = payer.pay(key="a", **asked)
    assert (answer.status, answer.headers["etag"]) == (201, '"1"')
    payment = answer.body
    assert answer.headers["location"] == f"{PAYMENTS}/{payment['payment_id']}"
    assert (payment["status"], payment["amount"], payment["funding"]) == ("PENDING", 10, "reserve")
    assert (payment["description"], payment["metadata"]) == ("November", {"month": "11"})
    assert payer.get(answer.headers["location"]).body == payment
    for query in ("", "account_id=alice", "account_id=bob", "status=PENDING", "limit=1"):
        assert payer.get(PAYMENTS, query).body == {
            "payments": [payment],
            "next_cursor": None,
            "partial": False,
        }
    assert payer.get(PAYMENTS, "status=COMPLETED").body["payments"] == []
    assert balances(payer, "alice", "bob") == [(90, 10), (0, 0)]
    replayed = payer.pay(key="a", **asked)
    assert (replayed.status, replayed.body) == (201, payment)
    assert replayed.headers["idempotent-replayed"] == "true"
    assert_sound(payer)


def test_a_batch_spoils_no_payment_for_the_fault_of_another(payer: Client) -> None:
    usual = {"from_account_id": "alice", "to_account_id": "bob", "amount": 10, "delay_seconds": 600}
    batch = [
        usual | {"idempotency_key": "a"},
        usual,
        usual | {"idempotency_key": "b", "amount": 1_000},
        usual | {"idempotency_key": "c", "to_account_id": "nobody"},
        usual | {"idempotency_key": "d", "colour": "red"},
    ]
    results = payer.call("POST", f"{PAYMENTS}/schedule/batch", {"payments": batch}).body["results"]
    assert [result["error"]["code"] if "error" in result else "ok" for result in results] == [
        *("ok", "idempotency_key_missing", "insufficient_funds", "not_found", "validation_failed"),
    ]
    assert balances(payer, "alice") == [(90, 10)]


def test_a_payment_is_changed_and_cancelled_with_what_it_holds(payer: Client) -> None:
    path = payer.pay(key="a", delay_seconds=600).headers["location"]
    later = (datetime.now(UTC) + timedelta(days=9)).replace(microsecond=0)
    changes = {"scheduled_time": later.isoformat(), "amount": 30, "description": "more"}
    changed = payer.call("PATCH", path, changes, {"if-match": '"1"'})
    assert (changed.status, changed.body["version"], changed.body["amount"]) == (200, 2, 30)
    assert datetime.fromisoformat(changed.body["scheduled_time"]) == later
    assert balances(payer, "alice") == [(70, 30)]
    cancelled = payer.call("DELETE", f"{path}/cancel")
    assert (cancelled.status, cancelled.body["success"], cancelled.body["status"]) == (200, True, "CANCELLED")
    assert payer.call("DELETE", f"{path}/cancel").body == cancelled.body
    assert balances(payer, "alice") == [(100, 0)]
    told = payer.get(f"{path}/events").body["events"]
    assert [event["event_type"] for event in told] == ["SCHEDULED", "RESCHEDULED", "CANCELLED"]
    assert payer.get(f"{path}/executions").body == {"executions": [], "next_cursor": None}
    for wrong in ("status=FAILED", "limit=0", "cursor=x"):
        assert payer.get(f"{path}/executions", wrong).status == 422
    assert payer.get(path).body["cancelled_at"] == told[-1]["timestamp"]
    assert_sound(payer)


def test_a_payment_that_was_made_is_told_by_its_events_executions_and_the_journal(
    payer: Client, world: World
) -> None:
    path = payer.pay(key="a").headers["location"]
    time.sleep(1.05)
    assert world.settle(calls(world, payer)) == []
    payment = payer.get(path).body
    assert (payment["status"], payment["attempts"]) == ("COMPLETED", 1)
    assert payment["lateness_ms"] >= 0
    told = [event["event_type"] for event in payer.get(f"{path}/events").body["events"]]
    assert told == ["SCHEDULED", "COMPLETED"]
    (execution,) = payer.get(f"{path}/executions").body["executions"]
    assert (execution["status"], execution["error_message"], execution["retry_count"]) == ("SUCCESS", None, 0)
    moved = {
        account: payer.get(f"/api/v1/accounts/{account}/transactions").body["transactions"][0]
        for account in ("alice", "bob")
    }
    newest = payer.get("/api/v1/accounts/alice/transactions").body["transactions"]
    row = next(each for each in newest if each["type"] == "PAYMENT")
    assert (row["payment_id"], row["direction"], row["amount"], row["counterparty"]) == (
        *(payment["payment_id"], "OUT", 10, "bob"),
    )
    assert (moved["bob"]["direction"], moved["bob"]["counterparty"]) == ("IN", "alice")
    assert moved["bob"]["transaction_id"] == row["transaction_id"]
    made = payer.call("DELETE", f"{path}/cancel")
    assert (*code(made), made.body["state"]) == (409, "invalid_state", "COMPLETED")
    assert balances(payer, "alice", "bob") == [(90, 0), (10, 0)]
    assert_sound(payer)


def test_a_forecast_names_the_first_instant_that_falls_short(payer: Client) -> None:
    first = payer.pay(key="a", amount=60, delay_seconds=600, funding="at_execution").body
    second = payer.pay(key="b", amount=70, delay_seconds=1200, funding="at_execution").body
    until = (datetime.now(UTC) + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    found = payer.get("/api/v1/accounts/alice/forecast", f"until={until}").body
    assert (found["balance"], found["balance_at_until"]) == (100, 40)
    assert found["falls_short_at"] == second["scheduled_time"]
    assert found["movements"][0]["payment_id"] == first["payment_id"]
    received = payer.get("/api/v1/accounts/bob/forecast").body
    assert received["balance"] == 0
    assert (received["movements"][0]["payment_id"], received["movements"][0]["amount"]) == (
        *(first["payment_id"], 60),
    )
    assert (received["partial"], received["next_cursor"]) == (False, None)
    assert fields(payer.get("/api/v1/accounts/alice/forecast", "until=tomorrow")) == ["until"]
    assert fields(payer.get("/api/v1/accounts/alice/forecast", "cursor=WyJ4IiwieSJd")) == ["cursor"]


def test_a_forecast_of_many_payments_goes_on_by_its_cursor(
    payer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forecast, "_READ_AT_ONCE", 2)
    for number in range(5):
        payer.pay(key=str(number), amount=10, delay_seconds=600 + number, funding="at_execution")
    path, query = "/api/v1/accounts/alice/forecast", ""
    whole = payer.get(path).body
    monkeypatch.setattr(forecast_routes, "within", partial(within, time=timedelta(0)))
    parts = []
    while True:
        parts.append(payer.get(path, query).body)
        if parts[-1]["next_cursor"] is None:
            break
        assert parts[-1]["partial"]
        query = f"cursor={parts[-1]['next_cursor']}"
    assert len(parts) == 3
    assert [each["balance_at_until"] for each in parts] == [80, 60, 50]
    assert [step for each in parts for step in each["movements"]] == whole["movements"]
    assert {each["until"] for each in parts} == {parts[0]["until"]}


class TestExecutions:
    @pytest.fixture
    def token(self, world: World) -> str:
        return tenants.internal_token(world.key_table)

    def execute(self, client: Client, payment_id: str, token: str, **form: Any) -> Answer:
        path = f"/api/v1/internal/payments/{payment_id}/execute"
        return client.call("POST", path, {"execution_id": "e-1"} | form, {"x-internal-auth": token})

    def test_a_payment_is_executed_once_however_often_it_is_asked_for(
        self, payer: Client, token: str
    ) -> None:
        id = payer.pay(key="a", delay_seconds=4).body["payment_id"]
        early = self.execute(payer, id, token)
        assert (*code(early), early.body["state"]) == (409, "invalid_state", "PENDING")
        time.sleep(4.05)
        done = self.execute(payer, id, token)
        assert (done.status, done.body) == (
            *(200, {"success": True, "execution_id": "e-1", "status": "COMPLETED"}),
        )
        assert self.execute(payer, id, token).body == done.body
        assert self.execute(payer, id, token, execution_id="e-2").body == done.body
        assert balances(payer, "alice", "bob") == [(90, 0), (10, 0)]

    def test_only_another_service_of_ours_may_execute(self, payer: Client, token: str) -> None:
        id = payer.pay(key="a", delay_seconds=600).body["payment_id"]
        for shown in ("", "nonsense", f"{token}x"):
            assert code(self.execute(payer, id, shown)) == (401, "unauthenticated")
        assert code(self.execute(payer, UNKNOWN.rpartition("/")[2], token)) == (404, "not_found")
        assert fields(self.execute(payer, id, token, execution_id="")) == ["execution_id"]


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"amount": 0}, "amount"),
            ({"amount": 1.5}, "amount"),
            ({"delay_seconds": 0}, "delay_seconds"),
            ({"delay_seconds": 31_536_001}, "delay_seconds"),
            ({"scheduled_time": "2020-01-01T00:00:00Z"}, "scheduled_time"),
            ({"to_account_id": "alice"}, "to_account_id"),
            ({"funding": "later"}, "funding"),
            ({"description": "d" * 501}, "description"),
            ({"metadata": {"n": 1}}, "metadata.n"),
            ({"colour": "red"}, "colour"),
        ],
    )
    def test_a_wrong_field_is_named(self, client: Client, changes: dict[str, Any], field: str) -> None:
        answer = client.pay(key="a", **changes)
        assert code(answer) == (422, "validation_failed")
        assert fields(answer) == [field]

    def test_a_payment_without_a_key_or_with_one_that_stands_for_another(self, payer: Client) -> None:
        form = {"from_account_id": "alice", "to_account_id": "bob", "amount": 10, "delay_seconds": 600}
        assert code(payer.call("POST", f"{PAYMENTS}/schedule", form)) == (400, "idempotency_key_missing")
        assert payer.pay(key="a", delay_seconds=600).status == 201
        assert code(payer.pay(key="a", delay_seconds=601)) == (422, "idempotency_key_reused")
        assert len(payer.get(PAYMENTS).body["payments"]) == 1

    def test_a_key_that_somebody_else_is_working_on(
        self, payer: Client, world: World, boundary: Boundary
    ) -> None:
        """A first try left the key without a payment long ago, and of two later ones the other was faster."""
        boundary.fail(TRANSACTIONS, *[unreachable] * 20)
        left = payer.pay(key="a", delay_seconds=600)
        assert code(left) == (503, "unavailable")
        assert left.headers["retry-after"] == "1"
        boundary.clear()
        rows = world.rows(world.tables["idempotency"])
        mine = [row["key"] for row in rows if row["key"]["S"].startswith(f"{payer.tenant}#")]
        for key in mine:
            world.dynamodb.update_item(
                TableName=world.tables["idempotency"],
                Key={"key": key},
                UpdateExpression="SET due = :then",
                ExpressionAttributeValues={":then": {"N": "0"}},
            )
        boundary.fail("PutItem", *[refused("ConditionalCheckFailedException")] * 2)
        answer = payer.pay(key="a", delay_seconds=600)
        assert code(answer) == (409, "idempotency_in_progress")
        assert answer.headers["retry-after"] == "1"
        assert payer.pay(key="a", delay_seconds=600).status == 201
        assert balances(payer, "alice") == [(90, 10)]

    def test_an_account_that_has_not_enough_or_may_not_pay(self, payer: Client) -> None:
        assert code(payer.pay(key="a", amount=101)) == (409, "insufficient_funds")
        assert code(payer.pay(key="b", amount=1_000_001)) == (422, "limit_exceeded")
        narrow = {"account_id": "narrow", "limits": {"amount_max": 5}}
        assert payer.call("POST", "/api/v1/accounts", narrow).status == 201
        assert code(payer.pay(key="c", from_account_id="narrow")) == (422, "limit_exceeded")
        assert payer.call("POST", "/api/v1/accounts/bob/freeze").body["status"] == "FROZEN"
        assert code(payer.pay(key="d", delay_seconds=600)) == (409, "account_frozen")
        assert payer.call("POST", "/api/v1/accounts/bob/unfreeze").body["status"] == "ACTIVE"
        assert payer.pay(key="d", delay_seconds=600).status == 201
        assert balances(payer, "alice") == [(90, 10)]

    def test_what_is_not_there_and_what_is_another_tenants_are_told_alike(
        self, payer: Client, world: World
    ) -> None:
        path = payer.pay(key="a", delay_seconds=600).headers["location"]
        other = world.tenant(f"{payer.tenant}-2")
        for asked, who in ((path, other), (UNKNOWN, payer)):
            for method, suffix, body in (
                ("GET", "", None),
                ("GET", "/events", None),
                ("GET", "/executions", None),
                ("PATCH", "", {"amount": 1}),
                ("DELETE", "/cancel", None),
            ):
                assert code(who.call(method, f"{asked}{suffix}", body)) == (404, "not_found")
        assert code(payer.pay(key="b", to_account_id="nobody")) == (404, "not_found")
        assert code(payer.get("/api/v1/accounts/nobody/transactions")) == (404, "not_found")
        assert payer.get(path).body["version"] == 1

    def test_another_version_than_if_match_names(self, payer: Client) -> None:
        path = payer.pay(key="a", delay_seconds=600).headers["location"]
        for method, asked, body in (("PATCH", path, {"amount": 1}), ("DELETE", f"{path}/cancel", None)):
            assert code(payer.call(method, asked, body, {"if-match": '"7"'})) == (412, "version_conflict")

    def test_a_key_without_the_scope_and_one_that_pays_from_another_account(self, payer: Client) -> None:
        reader = Client(tenant=payer.tenant, scopes="payments:read")
        assert code(reader.pay(key="a")) == (403, "forbidden")
        assert code(reader.call("POST", "/api/v1/accounts", {"account_id": "x"})) == (403, "forbidden")

        bound = Client(tenant=payer.tenant, bound_to=frozenset({"carol"}))
        form = {"from_account_id": "alice", "to_account_id": "bob", "amount": 10, "delay_seconds": 600}
        key = {"idempotency-key": "b"}
        answer = bound.call("POST", f"{PAYMENTS}/schedule", form, key)
        assert code(answer) == (403, "forbidden")

    def test_unknown_callers_and_bodies_that_are_no_json(self, client: Client) -> None:
        def nobody(event: dict[str, Any]) -> None:
            event["requestContext"].pop("authorizer")

        assert code(client.call("GET", PAYMENTS, change=nobody)) == (401, "unauthenticated")
        key = {"idempotency-key": "a"}
        assert code(client.call("POST", f"{PAYMENTS}/schedule", "{", key)) == (400, "malformed")

    def test_what_breaks_inside_is_told_without_a_word_about_it(
        self, payer: Client, boundary: Boundary
    ) -> None:
        boundary.fail("GetItem", *[refused("AccessDeniedException")] * 9)
        answer = payer.get(UNKNOWN)
        assert code(answer) == (500, "internal")
        assert "AccessDenied" not in str(answer.body)
