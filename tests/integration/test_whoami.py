"""`GET /api/v1/whoami`: every good key learns what it is."""

import pytest

from tests.integration.test_api_keys import made, used
from tests.integration.world import Client


@pytest.mark.parametrize("scopes", ["payments:read", "tasks:read tasks:write", "admin"])
def test_a_key_learns_its_tenant_and_scopes(client: Client, scopes: str) -> None:
    asking = Client(tenant=client.tenant, scopes=scopes)
    told = asking.get("/api/v1/whoami")
    assert told.status == 200
    assert told.body == {
        "key_id": asking.key_id,
        "tenant": client.tenant,
        "scopes": sorted(scopes.split()),
        "read_only": False,
        "account_ids": None,
        "amount_max": None,
        "amount_per_day_max": None,
        "actions": None,
        "networks": None,
        "requests_per_second": None,
        "expires_at": None,
    }


def test_a_key_learns_its_restrictions(client: Client) -> None:
    restrictions = {
        "read_only": True,
        "account_ids": ["rent"],
        "amount_max": 20,
        "amount_per_day_max": 100,
        "actions": ["cancelPayment", "getPayment"],
        "networks": ["198.51.100.0/24"],
        "requests_per_second": 7,
        "expires_at": "2099-01-01T00:00:00.000Z",
    }
    key = made(client, **restrictions)["key"]
    told = used(client, key, path="/api/v1/whoami").body
    assert {name: told[name] for name in restrictions} == restrictions


def test_a_bound_key_learns_its_accounts(client: Client) -> None:
    bound = Client(tenant=client.tenant, bound_to=frozenset({"b", "a"}))
    assert bound.get("/api/v1/whoami").body["account_ids"] == ["a", "b"]


def test_a_tenants_key_never_has_the_scope_of_operators(client: Client) -> None:
    pretending = Client(tenant=client.tenant, scopes="ops payments:read")
    assert pretending.get("/api/v1/whoami").body["scopes"] == ["payments:read"]


def test_an_operator_learns_the_tenant_it_acts_for(client: Client) -> None:
    operator = Client(tenant=client.tenant, scopes="ops payments:read", operates=True)
    assert operator.get("/api/v1/whoami").body["tenant"] == client.tenant
    nobody = operator.call("GET", "/api/v1/whoami", headers={"postdate-tenant": "nobody"})
    assert nobody.status == 403
