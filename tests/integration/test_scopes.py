"""Authorization: the scope of each route, the accounts that a key is bound to, and operators, who act for a
tenant."""

import re
from typing import Any, Final

import pytest

from cli import tenants
from functions.api.caller import ANY
from functions.api.operation import Operation
from functions.api.reference.operations import OPERATIONS
from tests.integration.test_api_errors import problem
from tests.integration.test_api_payments import PAYMENTS
from tests.integration.world import ALL_SCOPES, Answer, Client, World

GUARDED: Final = [each for each in OPERATIONS if each.scope not in (None, ANY) and each.scheme == "key"]
OF_ONE_ACCOUNT: Final = [
    each for each in GUARDED if each.scope == "admin" and "{account_id}" in each.path and each.method != "get"
]


def asked(client: Client, operation: Operation, **ids: str) -> tuple[int, str | None]:
    """Answer to a request whose ids and body are placeholders."""
    path = re.sub(r"\{(\w+)\}", lambda name: ids.get(name[1], "unknown"), operation.path)
    form = {} if operation.body else None
    answer = client.call(operation.method.upper(), path, form, {"idempotency-key": "k"})
    return answer.status, answer.body.get("code")


@pytest.mark.parametrize("operation", GUARDED, ids=lambda operation: operation.name)
@pytest.mark.parametrize("operates", [False, True], ids=["tenant", "operator"])
def test_each_route_needs_its_own_scope_and_no_other(
    client: Client, operation: Operation, operates: bool
) -> None:
    opened_by = set(operation.scopes) if operates else {str(operation.scope)}
    others = " ".join(sorted({*ALL_SCOPES.split(), "ops", "internal:none"} - opened_by))
    without = Client(tenant=client.tenant, scopes=others, operates=operates)
    assert asked(without, operation) == (403, "forbidden")
    for scope in opened_by:
        alone = Client(tenant=client.tenant, scopes=scope, operates=operates)
        refused = asked(alone, operation)[0] in (401, 403)
        assert refused is (scope == "ops" and not operates)


@pytest.mark.parametrize("operation", OF_ONE_ACCOUNT, ids=lambda operation: operation.name)
def test_an_administrator_bound_to_accounts_administers_no_other(
    client: Client, operation: Operation
) -> None:
    client.accounts(own=5, other=5)
    bound = Client(tenant=client.tenant, bound_to=frozenset({"own"}))
    assert asked(bound, operation, account_id="other") == (403, "forbidden")
    assert asked(bound, operation, account_id="own")[0] != 403


def test_a_bound_administrator_takes_no_money_from_another_account(client: Client) -> None:
    client.accounts(own=5, other=5)
    bound = Client(tenant=client.tenant, bound_to=frozenset({"own"}))
    form, key = {"amount": -5, "reason": "mine now"}, {"idempotency-key": "k"}
    stolen = bound.call("POST", "/api/v1/accounts/other/adjustments", form, key)
    assert problem(stolen) == (403, "forbidden")
    assert client.get("/api/v1/accounts/other").body["balance"] == 5
    assert bound.call("POST", "/api/v1/accounts/own/adjustments", form, key).status == 201


def test_a_bound_administrator_opens_no_other_account(client: Client) -> None:
    bound = Client(tenant=client.tenant, bound_to=frozenset({"own"}))
    path = "/api/v1/accounts"
    assert problem(bound.call("POST", path, {"account_id": "another"})) == (403, "forbidden")
    assert bound.call("POST", path, {"account_id": "own"}).status == 201


class TestAnOperator:
    def test_acts_for_the_tenant_that_it_names_and_for_no_other(self, client: Client, world: World) -> None:
        path = f"/api/v1/tasks/{client.register(delay_seconds=600).body['task_id']}"
        world.tenant(f"{client.tenant}-2")
        operator = Client(tenant=client.tenant, operates=True)
        assert operator.get(path).body == client.get(path).body
        elsewhere = operator.call("GET", path, headers={"postdate-tenant": f"{client.tenant}-2"})
        assert problem(elsewhere) == (404, "not_found")

    @pytest.mark.parametrize("named", ["", "nobody"])
    def test_names_a_tenant_that_there_is(self, client: Client, named: str) -> None:
        operator = Client(tenant=client.tenant, operates=True)
        answer = operator.call("GET", "/api/v1/tasks", headers={"postdate-tenant": named})
        assert problem(answer) == (403, "forbidden")
        assert "Postdate-Tenant" in answer.body["detail"]

    def test_audits_and_redrives_with_the_key_that_the_command_line_makes(
        self, client: Client, world: World
    ) -> None:
        client.accounts(alice=50)
        text = tenants.operator_key(world.key_table)

        def ask(method: str, path: str, body: Any = None, *, names: str = client.tenant) -> Answer:
            def change(event: dict[str, Any]) -> None:
                event["headers"] |= {"authorization": f"Bearer {text}", "postdate-tenant": names}
                event["requestContext"]["authorizer"]["lambda"] = {
                    "tenant": "",
                    "key_id": text.split("_")[1],
                }

            return client.call(method, path, body, change=change)

        audited = ask("GET", "/api/v1/audit")
        assert (audited.status, audited.body["ok"], audited.body["accounts"]) == (200, True, 1)
        assert problem(ask("GET", "/api/v1/audit", names="")) == (403, "forbidden")
        for queue in ("tasks", "payments"):
            path = f"/api/v1/ops/dlq/{queue}/redrive"
            # A redrive that finds no item is planned, and no machine is there to begin it.
            begun = ask("POST", path, {"ids": ["task_x"]})
            assert problem(begun) == (503, "unavailable")
            assert problem(ask("POST", path, {"ids": ["task_x"]}, names="nobody")) == (403, "forbidden")
        # The scope suffices for these two alone.
        assert problem(ask("POST", "/api/v1/accounts", {"account_id": "bob"})) == (403, "forbidden")
        plan = {"action": "redrive", "kind": "tasks", "ids": ["task_x"], "reason": "mended"}
        assert problem(ask("POST", "/api/v1/operations", plan)) == (403, "forbidden")

    def test_is_told_of_an_unknown_path_without_naming_a_tenant(self, client: Client) -> None:
        operator = Client(tenant=client.tenant, operates=True)
        nowhere = operator.call("GET", "/nowhere", headers={"postdate-tenant": ""})
        assert problem(nowhere) == (404, "not_found")

    def test_cancels_what_waits_for_a_person_where_a_tenant_with_the_scope_may_not(
        self, client: Client, world: World
    ) -> None:
        client.accounts(alice=50, bob=0)
        id = client.pay(key="p", delay_seconds=600).body["payment_id"]
        world.dynamodb.update_item(
            TableName=world.tables["payments"],
            Key=next(
                {"slot": row["slot"], "id": row["id"]}
                for page in world.dynamodb.get_paginator("scan").paginate(TableName=world.tables["payments"])
                for row in page["Items"]
                if row["id"]["S"] == id
            ),
            UpdateExpression="SET #status = :executing",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":executing": {"S": "EXECUTING"}},
        )
        tenant = Client(tenant=client.tenant, scopes=f"{ALL_SCOPES} ops")
        refused = tenant.call("DELETE", f"{PAYMENTS}/{id}/cancel")
        assert problem(refused) == (409, "invalid_state")
        operator = Client(tenant=client.tenant, scopes="ops payments:write", operates=True)
        assert operator.call("DELETE", f"{PAYMENTS}/{id}/cancel").body["status"] == "CANCELLED"


def test_a_tenants_key_that_names_another_tenant_is_refused(client: Client, world: World) -> None:
    world.tenant(f"{client.tenant}-2")
    elsewhere = client.call("GET", "/api/v1/tasks", headers={"postdate-tenant": f"{client.tenant}-2"})
    assert problem(elsewhere) == (403, "forbidden")
    assert client.call("GET", "/api/v1/tasks", headers={"postdate-tenant": client.tenant}).status == 200


def test_a_key_of_the_command_line_reads_and_does_nothing_else_unless_asked(world: World) -> None:
    made = tenants.key(world.key_table, "acme")
    asked_for = tenants.key(
        world.key_table, "acme", tenants.READS | {"tasks:write"}, accounts=frozenset({"a"})
    )
    operators = tenants.operator_key(world.key_table)
    stored = [world.keys.get(each.split("_")[1]) for each in (made, asked_for, operators)]
    assert [(key.tenant, key.scopes, key.accounts) for key in stored if key] == [
        ("acme", {"accounts:read", "events:read", "payments:read", "tasks:read"}, None),
        ("acme", {"accounts:read", "events:read", "payments:read", "tasks:read", "tasks:write"}, {"a"}),
        (None, {"accounts:read", "events:read", "ops", "payments:read", "tasks:read"}, None),
    ]


def test_the_command_line_gives_the_scope_of_operators_to_no_tenant() -> None:
    assert "ops" not in tenants.SCOPES
