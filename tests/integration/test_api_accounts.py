"""An administrator's accounts through the API's handler, over the real engine."""

import pytest

from tests.boundary import Boundary
from tests.integration.money import assert_sound, balances
from tests.integration.stores import TRANSACTIONS, cancelled
from tests.integration.world import Answer, Client

ACCOUNTS = "/api/v1/accounts"


@pytest.fixture
def admin(client: Client) -> Client:
    client.accounts(alice=2_000_000, bob=0)
    return client


def code(answer: Answer) -> tuple[int, str]:
    return answer.status, answer.body["code"]


def test_limits_are_raised_above_the_default_and_hold_for_the_next_payment(admin: Client) -> None:
    assert code(admin.pay(key="a", amount=1_500_000, delay_seconds=600)) == (422, "limit_exceeded")
    path = f"{ACCOUNTS}/alice"
    changed = admin.call("PATCH", path, {"limits": {"amount_max": 1_500_000}}, {"if-match": '"2"'})
    assert (changed.status, changed.headers["etag"]) == (200, '"3"')
    assert changed.body["limits"] == {
        "amount_min": 1,
        "amount_max": 1_500_000,
        "delay_seconds_min": 1,
        "delay_seconds_max": 31_536_000,
    }
    assert admin.get(path).body == changed.body
    assert admin.pay(key="a", amount=1_500_000, delay_seconds=600).status == 201
    stale = admin.call("PATCH", path, {"limits": {"amount_max": 7}}, {"if-match": '"3"'})
    assert code(stale) == (412, "version_conflict")
    for amount in (5_000_001, 1_000_000_000_001):
        refused = admin.call("PATCH", path, {"limits": {"amount_max": amount}})
        assert refused.status == 422
        assert refused.body["errors"][0]["field"] == "limits.amount_max"
    opened = {"account_id": "wide", "limits": {"amount_max": 5_000_001}}
    assert code(admin.call("POST", ACCOUNTS, opened)) == (422, "limit_exceeded")
    assert_sound(admin)


def test_an_empty_account_is_closed_and_takes_nothing_any_more(admin: Client) -> None:
    close = f"{ACCOUNTS}/bob/close"
    assert code(admin.call("POST", f"{ACCOUNTS}/alice/close")) == (409, "invalid_state")
    waiting = admin.pay(key="a", delay_seconds=600)
    assert code(admin.call("POST", close, None, {"if-match": "7"})) == (412, "version_conflict")
    closed = admin.call("POST", close, None, {"if-match": "1"})
    assert (closed.status, closed.body["status"], closed.body["version"]) == (200, "CLOSED", 2)
    assert admin.call("POST", close).body == closed.body == admin.get(f"{ACCOUNTS}/bob").body
    key = {"idempotency-key": "late"}
    for method, path, body in (
        ("POST", f"{ACCOUNTS}/bob/deposits", {"amount": 1}),
        ("POST", f"{ACCOUNTS}/bob/adjustments", {"amount": 1, "reason": "counted"}),
        ("POST", f"{ACCOUNTS}/bob/unfreeze", None),
        ("PATCH", f"{ACCOUNTS}/bob", {"limits": {"amount_max": 5}}),
        ("POST", ACCOUNTS, {"account_id": "bob"}),
    ):
        refused = admin.call(method, path, body, key)
        assert (code(refused), refused.body["state"]) == ((409, "invalid_state"), "CLOSED")
    assert code(admin.pay(key="b", delay_seconds=600)) == (409, "invalid_state")
    assert admin.call("DELETE", f"{waiting.headers['location']}/cancel").status == 200
    assert balances(admin, "alice", "bob") == [(2_000_000, 0), (0, 0)]
    assert_sound(admin)


def test_a_hundred_accounts_are_opened_at_once_and_found_again(admin: Client) -> None:
    asked = [{"account_id": f"rent:{number:03}"} for number in range(97)]
    asked += [
        {"account_id": "bob"},
        {"account_id": "a b"},
        {"account_id": "bob", "limits": {"amount_max": 5}},
    ]
    results = admin.call("POST", f"{ACCOUNTS}/batch", {"accounts": asked}).body["results"]
    assert [result["index"] for result in results] == list(range(100))
    told = [
        result["error"]["code"] if "error" in result else result["account"]["status"] for result in results
    ]
    assert told == ["ACTIVE"] * 98 + ["validation_failed", "invalid_state"]
    assert admin.call("POST", f"{ACCOUNTS}/batch", {"accounts": [{}] * 101}).status == 422
    admin.call("POST", f"{ACCOUNTS}/rent:007/freeze")
    found, query = [], "prefix=rent:&limit=40"
    while query:
        page = admin.get(ACCOUNTS, query).body
        found += [account["account_id"] for account in page["accounts"]]
        query = f"prefix=rent:&limit=40&cursor={page['next_cursor']}" if page["next_cursor"] else ""
    assert found == [f"rent:{number:03}" for number in range(97)]
    (frozen,) = admin.get(ACCOUNTS, "status=FROZEN").body["accounts"]
    assert frozen["account_id"] == "rent:007"
    assert code(admin.get(ACCOUNTS, "status=frozen")) == (422, "validation_failed")


def test_a_batch_is_opened_although_the_table_is_in_others_way(admin: Client, boundary: Boundary) -> None:
    boundary.fail(TRANSACTIONS, cancelled({"Code": "TransactionConflict"}, {"Code": "None"}))
    asked = [{"account_id": "carol"}, {"account_id": "dave"}]
    results = admin.call("POST", f"{ACCOUNTS}/batch", {"accounts": asked}).body["results"]
    assert [result["account"]["account_id"] for result in results] == ["carol", "dave"]


def test_what_a_deposit_is_for_is_in_the_journal(admin: Client) -> None:
    note = {"reference": "bank-4711", "description": "rent", "metadata": {"month": "11", "flat": "2"}}
    path, key = f"{ACCOUNTS}/bob/deposits", {"idempotency-key": "note"}
    first = admin.call("POST", path, {"amount": 5, **note}, key)
    assert (first.status, {name: first.body[name] for name in note}) == (201, note)
    again = admin.call("POST", path, {"amount": 5, **note}, key)
    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    other = admin.call("POST", path, {"amount": 5, **note, "reference": "bank-4712"}, key)
    assert code(other) == (422, "idempotency_key_reused")
    (row,) = admin.get(f"{ACCOUNTS}/bob/transactions").body["transactions"]
    assert (row["type"], {name: row[name] for name in note}) == ("DEPOSIT", note)
    (plain,) = admin.get(f"{ACCOUNTS}/alice/transactions").body["transactions"]
    assert {name: plain[name] for name in note} == {"reference": None, "description": None, "metadata": {}}


def test_a_payments_metadata_is_replaced_as_a_whole_and_cleared(admin: Client) -> None:
    path = admin.pay(key="a", delay_seconds=600, metadata={"a": "1", "b": "2"}).headers["location"]
    changed = admin.call("PATCH", path, {"metadata": {"c": "3"}}, {"if-match": "1"})
    assert (changed.status, changed.body["metadata"], changed.body["version"]) == (200, {"c": "3"}, 2)
    assert admin.get(path).body == changed.body
    assert code(admin.call("PATCH", path, {"metadata": {}}, {"if-match": "1"})) == (412, "version_conflict")
    described = admin.call("PATCH", path, {"description": "x", "metadata": None}).body
    assert (described["description"], described["metadata"]) == ("x", {"c": "3"})
    assert admin.call("PATCH", path, {"metadata": {}}).body["metadata"] == {}
    assert code(admin.call("PATCH", path, {"metadata": None})) == (422, "validation_failed")
    reasons = [event["data"]["reason"] for event in admin.get(f"{path}/events").body["events"]]
    assert reasons == ["registered", "changed metadata", "changed description", "changed metadata"]
    assert admin.call("DELETE", f"{path}/cancel").status == 200
    assert code(admin.call("PATCH", path, {"metadata": {"d": "4"}})) == (409, "invalid_state")
    assert_sound(admin)


def test_only_an_administrator_changes_and_closes_accounts(admin: Client) -> None:
    other = Client(tenant=admin.tenant, scopes="accounts:read payments:write")
    for method, path in (
        ("PATCH", f"{ACCOUNTS}/bob"),
        ("POST", f"{ACCOUNTS}/bob/close"),
        ("POST", f"{ACCOUNTS}/batch"),
    ):
        assert code(other.call(method, path, {"limits": {"amount_max": 5}})) == (403, "forbidden")
