"""An administrator's accounts through the API's handler, over the real engine."""

import pytest

from tests.integration.money import assert_sound, balances
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


def test_only_an_administrator_changes_and_closes_accounts(admin: Client) -> None:
    other = Client(tenant=admin.tenant, scopes="accounts:read payments:write")
    for method, path in (("PATCH", f"{ACCOUNTS}/bob"), ("POST", f"{ACCOUNTS}/bob/close")):
        assert code(other.call(method, path, {"limits": {"amount_max": 5}})) == (403, "forbidden")
