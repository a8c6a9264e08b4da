"""Faults at each call about keys and tenants: no limit is exceeded, and no secret ends before its overlap."""

from typing import Any, Final

import pytest

from functions.api.wiring import wired
from postdate.stores.api_key import ApiKey
from postdate.stores.key_hashes import plain_hash_of
from tests.boundary import Boundary, Crash, Fault, crash_after, crash_before, done_but_500, lost, refused
from tests.integration.test_api_keys import forgetful, made, used  # noqa: F401 (a fixture)
from tests.integration.world import Client, World

PAY: Final = "/api/v1/payments/schedule"
FAULTS: Final = {
    "lost": lost,
    "done, but 500": done_but_500,
    "500": refused("InternalServerError", 500),
    "throttled": refused("ThrottlingException"),
    "crash before": crash_before,
    "crash after": crash_after,
}
each_fault = pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
answer_lost = pytest.mark.parametrize("fault", [lost, done_but_500], ids=["lost", "broken"])


def spent(world: World, key_id: str) -> int:
    row = world.dynamodb.get_item(TableName=world.tables["keys"], Key={"key_id": {"S": key_id}})["Item"]
    return int(row.get("spent", {"N": "0"})["N"])


def pays(client: Client, key: dict[str, Any], name: str, amount: int) -> int:
    """The status of a payment, or 0 if the function crashed over it."""
    form = {"from_account_id": "alice", "to_account_id": "bob", "amount": amount, "delay_seconds": 600}
    try:
        return used(client, key["key"], "POST", PAY, body=form, headers={"idempotency-key": name}).status
    except Crash:
        return 0


@each_fault
@pytest.mark.parametrize("place", range(3))
def test_a_limit_of_a_day_holds_whatever_happens_to_its_count(
    client: Client, world: World, boundary: Boundary, fault: Fault, place: int
) -> None:
    """Payments that are paid, that the payer cannot pay, and that come again; each time one call about keys fails."""
    client.accounts(alice=80, bob=0)
    key = made(client, scopes=["payments:write"], amount_per_day_max=100)
    boundary.admits = True
    seen = 0

    def chosen(call: Any) -> bool:
        nonlocal seen
        seen += 1
        return seen - 1 == place

    boundary.fail(("UpdateItem", "GetItem"), fault, when=lambda call: _counts(call) and chosen(call))
    for name, amount in (("poor", 90), ("a", 40), ("a", 40), ("b", 30), ("poor", 90), ("c", 60)):
        pays(client, key, name, amount)
    account = client.get("/api/v1/accounts/alice").body
    assert account["reserved"] <= min(80, 100)
    assert account["reserved"] <= spent(world, key["key_id"])


def _counts(call: Any) -> bool:
    return call.names("spent")


@answer_lost
def test_what_is_given_back_is_given_back_once(
    client: Client, world: World, boundary: Boundary, fault: Fault
) -> None:
    client.accounts(alice=50, bob=0)
    key = made(client, scopes=["payments:write"], amount_per_day_max=100)
    assert pays(client, key, "a", 40) == 201
    boundary.admits = True
    boundary.fail("UpdateItem", fault, when=lambda call: _counts(call) and call.names(":1"))
    pays(client, key, "poor", 20)
    assert spent(world, key["key_id"]) >= 40


@answer_lost
def test_a_rotation_whose_answer_is_lost_leaves_the_secret_before_it_alive(
    client: Client, boundary: Boundary, fault: Fault
) -> None:
    key = made(client)
    boundary.admits = True
    boundary.fail("UpdateItem", fault)
    rotated = client.call("POST", f"/api/v1/keys/{key['key_id']}/rotate", {"overlap_seconds": 600}).body
    assert not boundary.faults_left
    assert [used(client, each["key"]).status for each in (key, rotated)] == [200, 200]


@answer_lost
def test_a_key_whose_answer_is_lost_is_told_all_the_same(
    client: Client, boundary: Boundary, fault: Fault
) -> None:
    boundary.admits = True
    boundary.fail("PutItem", fault)
    assert used(client, made(client)["key"]).status == 200
    assert not boundary.faults_left


@answer_lost
def test_a_signing_secret_whose_answer_is_lost_leaves_the_one_before_it_alive(
    client: Client, world: World, boundary: Boundary, fault: Fault
) -> None:
    before = world.signing_secrets(client.tenant)
    boundary.fail("PutItem", fault)
    answer = client.call("POST", "/api/v1/signing-secrets/rotate", {"overlap_seconds": 600})
    assert world.signing_secrets(client.tenant) == (answer.body["signing_secret"], *before)


@answer_lost
def test_a_tenant_whose_answer_is_lost_is_made_all_the_same(
    client: Client, boundary: Boundary, fault: Fault
) -> None:
    operator = Client(tenant=client.tenant, scopes="ops", operates=True)
    form = {"tenant_id": f"{client.tenant}-2"}
    boundary.fail("PutItem", fault)
    assert operator.call("POST", "/api/v1/ops/tenants", form).status == 201
    assert operator.call("POST", "/api/v1/ops/tenants", form).status == 409


def test_what_is_given_back_while_others_count_stays_counted(world: World) -> None:
    keys = wired().tables.keys
    keys.put(ApiKey(id="busy", secret_sha256=plain_hash_of("s"), tenant="acme", scopes=frozenset()))
    day = "2026-11-19"
    assert keys.spend("busy", 60, most=100, day=day)
    keys.give_back("busy", 20, day=day)
    assert spent(world, "busy") == 40
    keys.give_back("nobody", 20, day=day)


def test_amounts_that_are_given_back_side_by_side_are_all_given_back(
    world: World, boundary: Boundary
) -> None:
    keys, day = wired().tables.keys, "2026-11-19"
    keys.put(ApiKey(id="beside", secret_sha256=plain_hash_of("s"), tenant="acme", scopes=frozenset()))
    assert keys.spend("beside", 60, most=100, day=day)

    def another_meanwhile(request: Any, send: Any) -> Any:
        keys.give_back("beside", 10, day=day)
        return send()

    boundary.admits = True
    boundary.fail("UpdateItem", another_meanwhile)
    keys.give_back("beside", 20, day=day)
    assert not boundary.faults_left
    assert spent(world, "beside") == 30


@answer_lost
def test_what_is_given_back_is_given_back_once_although_others_count_as_much_meanwhile(
    world: World, boundary: Boundary, fault: Fault
) -> None:
    """The sum is the same again when the lost request is repeated."""
    keys, day = wired().tables.keys, "2026-11-19"
    keys.put(ApiKey(id="again", secret_sha256=plain_hash_of("s"), tenant="acme", scopes=frozenset()))
    assert keys.spend("again", 60, most=100, day=day)

    def as_much_meanwhile(request: Any, send: Any) -> Any:
        def sent() -> Any:
            answer = send()
            assert keys.spend("again", 20, most=100, day=day)
            return answer

        return fault(request, sent)

    boundary.admits = True
    boundary.fail("UpdateItem", as_much_meanwhile)
    keys.give_back("again", 20, day=day)
    assert not boundary.faults_left
    assert spent(world, "again") == 60
