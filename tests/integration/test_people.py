"""People who sign in at a real issuer: Cognito of the local engine, another process, which signs with its own keys."""

import base64
import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from functions.api.wiring import wired
from postdate.runtime import aws
from postdate.stores.key_text import parts_of
from tests.integration.conftest import forget
from tests.integration.test_api_errors import problem
from tests.integration.world import Answer, Client, World
from tests.issuer import Pool, made


@pytest.fixture
def pool(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pool]:
    """The functions are wired anew with this issuer, and as before afterwards."""
    pool = made(aws.client.__wrapped__("cognito-idp"))
    monkeypatch.setenv("OIDC", pool.setting())
    forget()
    yield pool
    forget()


def asked(
    client: Client, world: World, token: str, method: str = "GET", path: str = "/api/v1/whoami", **sent: Any
) -> Answer:
    """A request as it comes behind the real authorizer."""
    found = world.authorize({"authorization": f"Bearer {token}"})["context"]

    def change(event: dict[str, Any]) -> None:
        event["requestContext"]["authorizer"]["lambda"] = found
        if named := sent.get("tenant"):
            event["headers"]["postdate-tenant"] = named

    return client.call(method, path, sent.get("body"), {"authorization": f"Bearer {token}"}, change=change)


def test_a_person_has_the_tenant_and_the_scopes_of_the_token(
    client: Client, world: World, pool: Pool
) -> None:
    token = pool.signed_in("ada", client.tenant, "tasks:read")
    told = asked(client, world, token)
    assert told.status == 200
    assert (told.body["tenant"], told.body["scopes"]) == (client.tenant, ["tasks:read"])
    assert told.body["key_id"].startswith("oidc-")
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert datetime.fromisoformat(told.body["expires_at"]).timestamp() == claims["exp"]
    assert asked(client, world, token, path="/api/v1/tasks").status == 200
    assert problem(asked(client, world, token, path="/api/v1/payments")) == (403, "forbidden")
    assert problem(asked(client, world, token, tenant="another")) == (403, "forbidden")


def test_a_person_without_a_tenant_is_an_operator_only_by_the_scope(
    client: Client, world: World, pool: Pool
) -> None:
    operator = pool.signed_in("op", None, "ops", "tasks:read")
    assert asked(client, world, operator, path="/api/v1/ops/tenants").status == 200
    assert asked(client, world, operator, path="/api/v1/tasks", tenant=client.tenant).status == 200
    for name, tenant, group in (("nobody", None, "tasks:read"), ("inside", None, "internal")):
        refused = asked(client, world, pool.signed_in(name, tenant, group))
        assert problem(refused) == (401, "unauthenticated")
    tenants_own = pool.signed_in("chief", client.tenant, "ops", "tasks:read")
    assert problem(asked(client, world, tenants_own, path="/api/v1/ops/tenants")) == (403, "forbidden")


def test_a_key_that_a_person_makes_has_no_more_than_the_person(
    client: Client, world: World, pool: Pool
) -> None:
    token = pool.signed_in("maker", client.tenant, "keys:write", "tasks:read")
    form = {"name": "shop", "scopes": ["tasks:read"]}
    key = asked(client, world, token, "POST", "/api/v1/keys", body=form)
    assert key.status == 201, key.body
    assert key.body["made_by"].startswith("oidc-")
    assert parts_of(f"Bearer {key.body['key']}") is not None
    more = asked(client, world, token, "POST", "/api/v1/keys", body={**form, "scopes": ["tasks:write"]})
    assert problem(more) == (403, "forbidden")


def test_a_token_for_another_client_of_another_pool_or_of_another_kind_is_nobodys(
    client: Client, world: World, pool: Pool
) -> None:
    """The access token names no audience."""
    other = made(pool.cognito)
    tokens = [
        other.signed_in("eve", client.tenant, "tasks:read"),
        pool.signed_in("eve", client.tenant, "tasks:read", token="AccessToken"),
        pool.signed_in("ada", client.tenant, "tasks:read")[:-4] + "AAAA",
    ]
    for token in tokens:
        assert world.authorize({"authorization": f"Bearer {token}"})["context"]["key_id"] == ""
        assert problem(asked(client, world, token)) == (401, "unauthenticated")


def test_an_issuer_that_does_not_answer_refuses_nobody_for_good_and_no_key_at_all(
    client: Client, world: World, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = pool.signed_in("ada", client.tenant, "tasks:read")
    monkeypatch.setenv("OIDC", pool.setting(jwks_url="http://127.0.0.1:9/keys"))
    forget()
    assert world.authorize({"authorization": f"Bearer {token}"})["context"]["unavailable"] == "true"
    answer = asked(client, world, token)
    assert problem(answer) == (503, "unavailable")
    assert client.get("/api/v1/whoami").status == 200


def test_without_an_issuer_a_token_is_nobodys(
    client: Client, world: World, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = pool.signed_in("ada", client.tenant, "tasks:read")
    monkeypatch.setenv("OIDC", "none")
    forget()
    assert problem(asked(client, world, token)) == (401, "unauthenticated")
    assert wired().guards.admission.person(token) is None
