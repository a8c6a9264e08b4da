"""A tenant's keys through the API: made, listed, used, rotated and revoked."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from functions.api.limits.of_keys import KeyMeter
from functions.api.wiring import wired
from functions.authorize import handler as authorizer
from postdate.domain.errors import RateLimited, Unavailable
from postdate.stores.key_text import bearer_text
from tests.boundary import Boundary
from tests.integration.test_api_errors import problem
from tests.integration.world import SECRET, Answer, Client, World

KEYS = "/api/v1/keys"


def made(client: Client, **fields: Any) -> dict[str, Any]:
    answer = client.call("POST", KEYS, {"name": "shop", "scopes": ["tasks:read"], **fields})
    assert answer.status == 201, answer.body
    body: dict[str, Any] = answer.body
    return body


def used(client: Client, text: str, method: str = "GET", path: str = "/api/v1/tasks", **sent: Any) -> Answer:
    """A request with that key, as it comes behind the authorizer."""

    def change(event: dict[str, Any]) -> None:
        event["requestContext"]["authorizer"]["lambda"] = {"tenant": "", "key_id": text.split("_")[1]}
        event["requestContext"]["http"]["sourceIp"] = sent.get("source", "198.51.100.7")

    headers = {"authorization": f"Bearer {text}", **sent.get("headers", {})}
    return client.call(method, path, sent.get("body"), headers, change=change)


@pytest.fixture(autouse=True)
def forgetful(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request reads its key, as if the last one was more than two seconds ago."""
    monkeypatch.setattr(
        wired().guards, "admission", replace(wired().guards.admission, key=wired().tables.keys.get)
    )


def test_a_key_is_told_once_and_works_within_its_scopes(client: Client) -> None:
    key = made(client)
    assert used(client, key["key"]).status == 200
    assert problem(used(client, key["key"], path=KEYS)) == (403, "forbidden")
    shown = client.get(f"{KEYS}/{key['key_id']}").body
    assert shown == {name: value for name, value in key.items() if name != "key"}
    assert shown["prefix"] == key["key"][: len(shown["prefix"])]
    assert client.get(KEYS).body["keys"].count(shown) == 1
    assert key["key"] not in str(client.get(KEYS).body)


def test_the_list_goes_on_by_its_cursor_and_shows_no_other_tenants_keys(client: Client, world: World) -> None:
    ids = {made(client)["key_id"] for _ in range(3)}
    other = world.tenant(f"{client.tenant}-2")
    theirs = made(other)
    seen, cursor = set[str](), ""
    while True:
        page = client.get(KEYS, f"limit=2{cursor}").body
        seen |= {each["key_id"] for each in page["keys"]}
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert ids <= seen
    assert theirs["key_id"] not in seen
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate")):
        answer = client.call(method, f"{KEYS}/{theirs['key_id']}{path}")
        assert problem(answer) == (404, "not_found")
    assert used(other, theirs["key"]).status == 200


def test_a_key_makes_none_with_more_scopes_than_its_own(client: Client) -> None:
    maker = Client(tenant=client.tenant, scopes="keys:write tasks:read")
    made(maker)
    refused = maker.call("POST", KEYS, {"name": "more", "scopes": ["tasks:write"]})
    assert problem(refused) == (403, "forbidden")
    assert "scopes" in refused.body["detail"]


def test_an_operator_makes_a_key_of_the_tenant_that_it_names(client: Client) -> None:
    operator = Client(tenant=client.tenant, scopes="ops keys:write tasks:read", operates=True)
    assert used(client, made(operator)["key"]).status == 200


def test_a_revoked_key_is_refused(client: Client) -> None:
    key = made(client)
    revoked = client.call("DELETE", f"{KEYS}/{key['key_id']}")
    assert (revoked.status, revoked.body["status"]) == (200, "REVOKED")
    assert problem(used(client, key["key"])) == (401, "unauthenticated")
    assert client.call("DELETE", f"{KEYS}/{key['key_id']}").body == revoked.body


def test_a_rotated_key_works_beside_the_one_before_for_the_overlap(client: Client) -> None:
    key = made(client)
    path = f"{KEYS}/{key['key_id']}/rotate"
    rotated = client.call("POST", path, {"overlap_seconds": 600}).body
    assert rotated["key"] != key["key"]
    assert rotated["previous_until"] is not None
    assert [used(client, text).status for text in (key["key"], rotated["key"])] == [200, 200]
    last = client.call("POST", path).body
    assert last["previous_until"] is None
    assert [used(client, each["key"]).status for each in (key, rotated, last)] == [401, 401, 200]


def test_a_key_is_refused_from_another_network(client: Client) -> None:
    key = made(client, networks=["203.0.113.0/24"])
    assert used(client, key["key"], source="203.0.113.9").status == 200
    assert problem(used(client, key["key"], source="203.0.114.9")) == (403, "forbidden")
    assert problem(used(client, key["key"], path="/nowhere", source="203.0.114.9")) == (403, "forbidden")


def test_a_mistyped_key_is_refused_without_a_read(client: Client, world: World) -> None:
    text = made(client)["key"]
    wrong = text[:-1] + ("a" if text[-1] != "a" else "b")
    assert problem(used(client, wrong)) == (401, "unauthenticated")


def test_a_key_that_may_pay_a_hundred_a_day_pays_a_hundred_asked_by_sixteen_threads(client: Client) -> None:
    client.accounts(alice=1000, bob=0)
    key = made(client, scopes=["payments:write"], amount_max=7, amount_per_day_max=100)
    form = {"from_account_id": "alice", "to_account_id": "bob", "amount": 7, "delay_seconds": 600}

    def pay(number: int) -> int:
        headers = {"idempotency-key": f"p-{number}"}
        sent: dict[str, Any] = {"body": form, "headers": headers}
        return used(client, key["key"], "POST", "/api/v1/payments/schedule", **sent).status

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(pay, range(32)))
    assert (statuses.count(201), statuses.count(422)) == (14, 18)
    assert client.get("/api/v1/accounts/alice").body["reserved"] == 98
    above = {"body": form | {"amount": 8}, "headers": {"idempotency-key": "above"}}
    answer = used(client, key["key"], "POST", "/api/v1/payments/schedule", **above)
    assert problem(answer) == (422, "limit_exceeded")


def test_a_changed_amount_is_held_to_the_limits_of_the_key(client: Client) -> None:
    client.accounts(alice=1000, bob=0)
    key = made(client, scopes=["payments:write"], amount_per_day_max=100)
    path = f"/api/v1/payments/{client.pay(key='p', amount=10, delay_seconds=600).body['payment_id']}"
    assert used(client, key["key"], "PATCH", path, body={"amount": 90}).status == 200
    assert problem(used(client, key["key"], "PATCH", path, body={"amount": 11})) == (422, "limit_exceeded")
    assert client.get(path).body["amount"] == 90


def test_the_last_use_of_a_key_is_noted_by_the_authorizer_with_at_most_one_write(
    client: Client, world: World, boundary: Boundary
) -> None:
    key = made(client)
    assert client.get(f"{KEYS}/{key['key_id']}").body["last_used_at"] is None
    boundary.admits = True
    # A process asks for the key of the hashes once.
    world.authorize({"authorization": f"Bearer {bearer_text(client.key_id, SECRET)}"})
    boundary.calls.clear()
    for _ in range(3):
        world.authorize({"authorization": f"Bearer {key['key']}"})
    assert [call.operation for call in boundary.calls] == ["GetItem", "UpdateItem", "GetItem", "GetItem"]
    assert client.get(f"{KEYS}/{key['key_id']}").body["last_used_at"] is not None


@pytest.mark.parametrize("error", [Unavailable(), RuntimeError("access denied")], ids=repr)
def test_a_use_that_cannot_be_noted_refuses_nobody(
    client: Client, world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    key = made(client)

    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(authorizer.wired().keys, "use", fails)
    answer = world.authorize({"authorization": f"Bearer {key['key']}"})
    assert answer["context"]["key_id"] == key["key_id"]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"name": "x"},
        {"name": "x", "scopes": []},
        {"name": "x", "scopes": ["ops"]},
        {"name": "x", "scopes": ["tasks:read"], "tenant": "other"},
        {"name": "x", "scopes": ["tasks:read"], "amount_max": 0},
        {"name": "x", "scopes": ["tasks:read"], "networks": ["10.0.0.1/8"]},
        {"name": "x", "scopes": ["tasks:read"], "expires_at": "2020-01-01T00:00:00Z"},
    ],
    ids=str,
)
def test_a_form_that_is_wrong_makes_no_key(client: Client, form: dict[str, Any]) -> None:
    before = client.get(KEYS).body
    assert problem(client.call("POST", KEYS, form)) == (422, "validation_failed")
    assert client.get(KEYS).body == before


def test_a_key_that_only_reads_is_refused_whatever_writes(client: Client) -> None:
    key = made(client, scopes=["tasks:read", "tasks:write"], read_only=True)["key"]
    preview = {"cron": "0 9 * * *"}
    assert used(client, key).status == 200
    assert used(client, key, path="/api/v1/whoami").body["read_only"] is True
    assert used(client, key, "POST", "/api/v1/tasks/preview", body=preview).status == 200
    assert problem(used(client, key, "POST", body={})) == (403, "forbidden")


def test_a_key_asks_only_for_the_actions_that_it_is_restricted_to(client: Client) -> None:
    key = made(client, scopes=["tasks:read", "payments:read"], actions=["listTasks"])["key"]
    assert used(client, key).status == 200
    assert used(client, key, path="/api/v1/whoami").status == 200
    for path in ("/api/v1/payments", "/api/v1/tasks/t"):
        refused = used(client, key, path=path)
        assert problem(refused) == (403, "forbidden")
        assert "may not ask for" in refused.body["detail"]
    for wrong in (["nothing"], ["executePayment"], []):
        form = {"name": "x", "scopes": ["tasks:read"], "actions": wrong}
        assert problem(client.call("POST", KEYS, form)) == (422, "validation_failed")


def test_a_key_with_a_limit_is_told_what_is_left_and_refused_beyond_it(client: Client) -> None:
    key = made(client, requests_per_second=1)["key"]
    first = used(client, key).headers
    assert (first["ratelimit-policy"], first["ratelimit"]) == ('"requests";q=10;w=10', '"requests";r=9;t=1')
    answers = [used(client, key, path="/api/v1/whoami") for _ in range(25)]
    assert all(each.status == 200 for each in answers[:9])
    refused = [each for each in answers if each.status != 200]
    assert problem(refused[0]) == (429, "rate_limited")
    assert refused[0].headers["ratelimit"] == '"requests";r=0;t=10'
    assert refused[0].headers["retry-after"] == "1"
    assert "ratelimit" not in client.get("/api/v1/whoami").headers


def test_a_limit_of_requests_holds_when_sixteen_threads_ask(client: Client) -> None:
    """One copy of the function for each thread."""
    key, given = made(client, requests_per_second=5), wired()
    (stored,) = given.tables.keys.some([key["key_id"]]).values()

    def admitted(_: int) -> int:
        meter, count = KeyMeter(flow=given.tables.flow, clock=given.clock), 0
        for _ in range(20):
            with suppress(RateLimited):
                meter.take(stored)
                count += 1
        return count

    began = time.monotonic()
    with ThreadPoolExecutor(16) as pool:
        total = sum(pool.map(admitted, range(16)))
    assert 50 <= total <= 50 + 5 * (time.monotonic() - began) + 16 * 2
