"""Every kind of key x every operation x every tenant, drawn from the API's own table of operations."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from typing import Any, Final

import pytest

from functions.api.caller import ANY
from functions.api.handler import app
from functions.api.operation import Operation
from functions.api.reference.operations import OPERATIONS
from postdate.domain import breaker
from postdate.domain.breaker import Breaker
from postdate.domain.scopes import INTERNAL, OF_TENANTS, OPS
from postdate.stores.api_key import ApiKey
from postdate.stores.flow_dynamo import DynamoFlow
from postdate.stores.key_hashes import plain_hash_of
from tests.integration.test_events import Stream, recorded
from tests.integration.world import SECRET, Client, World

GUARDED: Final = [each for each in OPERATIONS if each.scheme == "key" and each.scope is not None]
SCOPES: Final = (*OF_TENANTS, OPS, INTERNAL)
SENDER: Final = "192.0.2.7"
PAST: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A key with one scope, whose holder names a tenant or none. `dead`: expired or revoked."""

    scope: str
    operates: bool
    names: str | None
    dead: bool = False

    def expected(self, operation: Operation) -> set[int] | None:
        """The only statuses that may be answered; None for any but a refusal of the key."""
        if self.dead:
            return {401}
        if operation.scope == OPS:
            return None if self.operates and self.scope == OPS else {403}
        if self.operates and self.names is None:
            return {403}
        if not self.operates and self.names == "other":
            return {403}
        if self.operates and operation.for_operators and self.scope == OPS:
            return None
        return None if operation.scope in (self.scope, ANY) else {403}


CASES: Final = [
    *(
        Case(scope=scope, operates=operates, names=names)
        for scope, operates, names in product(SCOPES, (False, True), (None, "own", "other"))
    ),
    *(Case(scope=scope, operates=False, names=None, dead=True) for scope in SCOPES),
]


@pytest.fixture
def tenants(client: Client, world: World) -> dict[str, str]:
    """The ids of tenants that have an item of every kind each."""
    other = world.tenant(f"{client.tenant}-2")
    return {"own": client.tenant, "other": other.tenant}


def key_of(case: Case, tenant: str, world: World) -> ApiKey:
    key = ApiKey(
        id=plain_hash_of(repr((case, tenant)))[:16],
        secret_sha256=plain_hash_of(SECRET),
        tenant=None if case.operates else tenant,
        scopes=frozenset({case.scope}),
        expires_at=PAST if case.dead else None,
    )
    world.keys.put(key)
    return key


def asked(client: Client, operation: Operation, case: Case, key: ApiKey, named: str | None) -> int:
    def change(event: dict[str, Any]) -> None:
        event["headers"]["authorization"] = f"Bearer pd_{key.id}_{SECRET}"
        event["headers"].pop("postdate-tenant", None)
        if named is not None:
            event["headers"]["postdate-tenant"] = named
        event["requestContext"]["http"]["sourceIp"] = SENDER
        event["requestContext"]["authorizer"]["lambda"] = {"tenant": key.tenant or "", "key_id": key.id}

    path = re.sub(r"\{\w+\}", "unknown", operation.path)
    body: Any = {} if operation.body else None
    return client.call(operation.method.upper(), path, body, {"idempotency-key": "k"}, change=change).status


def test_every_key_opens_exactly_the_operations_of_its_scope_for_its_tenant(
    client: Client, world: World, tenants: dict[str, str]
) -> None:
    counts, wrong = Counter[str](), list[str]()
    for case in CASES:
        key = key_of(case, client.tenant, world)
        named = None if case.names is None else tenants[case.names]
        for operation in GUARDED:
            status, expected = asked(client, operation, case, key, named), case.expected(operation)
            opened = status not in (401, 403)
            counts["opened" if opened else str(status)] += 1
            if (opened and status < 500) if expected is None else status in expected:
                continue
            wrong.append(f"{case} {operation.name}: {status}, expected {expected or 'neither 401 nor 403'}")
    print(f"{len(CASES)} keys x {len(GUARDED)} operations: {dict(counts)}")
    assert wrong == []
    assert sum(counts.values()) == len(CASES) * len(GUARDED)
    assert counts["401"] == len(SCOPES) * len(GUARDED)
    assert counts["opened"] > 3 * len(GUARDED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Restriction:
    """A restriction of a key that has every scope, and the operations that it leaves open."""

    name: str
    fields: dict[str, Any]
    leaves: Callable[[Operation], bool]


NAMES: Final = [each.name for each in GUARDED]
HALVES: Final = (frozenset(NAMES[::2]), frozenset(NAMES[1::2]))
HERE, ELSEWHERE = ("192.0.2.0/24", "198.51.100.0/24")
RESTRICTIONS: Final = [
    Restriction(name="none", fields={}, leaves=lambda each: True),
    Restriction(
        name="read_only",
        fields={"read_only": True},
        leaves=lambda each: each.method == "get" or each.name == "previewTask",
    ),
    *(
        Restriction(
            name=f"actions {place}",
            fields={"actions": half},
            leaves=lambda each, half=half: each.scope == ANY or each.name in half,  # type: ignore[misc]
        )
        for place, half in enumerate(HALVES)
    ),
    Restriction(name="here", fields={"networks": (HERE,)}, leaves=lambda each: True),
    Restriction(name="elsewhere", fields={"networks": (ELSEWHERE,)}, leaves=lambda each: False),
]


def test_a_restricted_key_opens_exactly_the_operations_that_its_restriction_leaves(
    client: Client, world: World
) -> None:
    """Keys of the tenant and of an operator, each with all scopes. Every operation is left by one of the two halves and
    refused by the other one."""
    counts, wrong = Counter[str](), list[str]()
    for restriction, operates in product(RESTRICTIONS, (False, True)):
        key = ApiKey(
            id=plain_hash_of(repr((restriction.name, operates, client.tenant)))[:16],
            secret_sha256=plain_hash_of(SECRET),
            tenant=None if operates else client.tenant,
            scopes=frozenset({*OF_TENANTS, *([OPS] if operates else ())}),
            **restriction.fields,
        )
        world.keys.put(key)
        case = Case(scope="", operates=operates, names="own" if operates else None)
        for operation in GUARDED:
            if operation.scope == OPS and not operates:
                continue
            status = asked(client, operation, case, key, client.tenant if operates else None)
            counts[f"{restriction.name}: {'refused' if status == 403 else 'opened'}"] += 1
            if status >= 500 or (status != 403) != restriction.leaves(operation):
                wrong.append(f"{restriction.name} {operation.name}: {status}")
    print(f"{len(RESTRICTIONS)} restrictions x {len(GUARDED)} operations: {dict(counts)}")
    assert wrong == []
    assert counts["actions 0: refused"] + counts["actions 1: refused"] == counts["elsewhere: refused"] - 2


def test_a_key_with_a_limit_of_requests_is_refused_by_every_operation_beyond_it(
    client: Client, world: World
) -> None:
    operates = Case(scope="", operates=True, names="own")
    key = ApiKey(
        id=plain_hash_of(client.tenant)[:16],
        secret_sha256=plain_hash_of(SECRET),
        tenant=None,
        scopes=frozenset({*OF_TENANTS, OPS}),
        requests_a_second=1,
    )
    world.keys.put(key)
    statuses = Counter[int]()
    for operation in [*GUARDED, *GUARDED]:
        statuses[asked(client, operation, operates, key, client.tenant)] += 1
    print(f"one request a second, {2 * len(GUARDED)} requests: {dict(statuses)}")
    assert statuses[429] > len(GUARDED)


def things(client: Client, world: World) -> dict[str, str]:
    """The ids of things of every kind that a tenant has."""
    client.accounts(rent=100, landlord=0)
    stream = Stream(world, client)
    payment = client.pay(key="p", from_account_id="rent", to_account_id="landlord", delay_seconds=600)
    assert recorded(stream.records()) == []
    task = client.register(delay_seconds=600).body["task_id"]
    made = client.call("POST", "/api/v1/keys", {"name": "theirs", "scopes": ["tasks:read"]})
    plan = {"action": "cancel", "kind": "tasks", "ids": [task], "dry_run": True, "reason": "a test"}
    subscription = {"target": {"type": "webhook", "url": "http://127.0.0.1:9/"}, "types": ["payment.*"]}
    opened = breaker.failed(Breaker(), 10, now=datetime.now(UTC), error="connection refused")
    flow = DynamoFlow(table=world.tables["flow"], client=world.dynamodb)
    assert flow.change_breaker((client.tenant, "webhook:https://down.example"), Breaker(), opened)
    (destination,) = client.get("/api/v1/destinations").body["destinations"]
    (event,) = client.get("/api/v1/events").body["events"]
    return {
        "task_id": task,
        "run_id": task,
        "job_id": task,
        "payment_id": payment.body["payment_id"],
        "account_id": "rent",
        "key_id": made.body["key_id"],
        "event_id": event["event_id"],
        "subscription_id": client.call("POST", "/api/v1/subscriptions", subscription).body["subscription_id"],
        "operation_id": client.call("POST", "/api/v1/operations", plan).body["operation_id"],
        "destination_id": destination["id"],
    }


# A tenant names its flow keys itself, so another tenant's request makes a key of its own.
NAMED_BY_TENANTS: Final = {"flow_key"}
OF_ITEMS: Final = [each for each in GUARDED if "{" in each.path and each.scope != OPS]


def test_no_operation_reaches_another_tenants_things(
    client: Client, world: World, tenants: dict[str, str]
) -> None:
    """Each operation on an id gets another tenant's real one, with a key that has every scope: a tenant's own, and an
    operator's who names the tenant."""
    ids, seen = things(client, world), Counter[int]()
    scopes = " ".join([*OF_TENANTS, OPS])
    others = [
        replace(client, tenant=tenants["other"]),
        Client(tenant=tenants["other"], scopes=scopes, operates=True),
    ]
    tried = 0
    for other, operation in product(others, OF_ITEMS):
        names = set(re.findall(r"\{(\w+)\}", operation.path))
        if names <= NAMED_BY_TENANTS:
            continue
        path = re.sub(r"\{(\w+)\}", lambda name: ids[name[1]], operation.path)
        statuses = {
            other.call(operation.method.upper(), path, body, {"idempotency-key": "k"}).status
            for body in _bodies(operation)
        }
        # Some examples are wrong for any id: their instants have passed, or they are for the other kind of task.
        assert 404 in statuses, operation.name
        assert statuses <= {404, 422}, operation.name
        seen.update(statuses)
        tried += 1
    print(f"{len(others)} keys x {tried // len(others)} operations on another tenant's ids: {dict(seen)}")
    assert tried >= 2 * 50


def test_a_flow_key_of_one_name_is_another_one_for_another_tenant(
    client: Client, tenants: dict[str, str]
) -> None:
    path = "/api/v1/flow-keys/mail"
    assert client.call("POST", f"{path}/pause").body["paused"]
    other = replace(client, tenant=tenants["other"])
    assert other.get(path).status == 404
    assert other.call("POST", f"{path}/resume").status == 404
    assert other.call("PATCH", path, {"rate": 1}).status == 200
    assert other.call("POST", f"{path}/resume").status == 200
    mine = client.get(path).body
    assert (mine["paused"], mine["rate"]) == (True, None)


def test_the_matrix_has_every_route_of_the_api_that_a_key_opens() -> None:
    """Routes come from the API itself. A route that no operation describes would be in no table."""
    served = {
        (each.method, re.sub(r"<\w+>", "<>", each.path))
        for each in (*app._static_routes, *app._dynamic_routes)
    }
    described = {(each.method.upper(), re.sub(r"\{\w+\}", "<>", each.path)) for each in OPERATIONS}
    assert described - served == set()
    assert served - described == {("GET", "/console/<>")}
    open_to_all = {each.name for each in OPERATIONS} - {each.name for each in GUARDED}
    assert open_to_all == {"executePayment", "health", "description", "documentation", "console"}


def _bodies(operation: Operation) -> list[Any]:
    if operation.body is None:
        return [None]
    examples = operation.examples or {}
    return [each["value"] for each in examples.values()]
