"""Rights of the functions are taken away one at a time on the running stack, and a promise fails each time.

A right whose absence nobody notices would be one that nothing uses.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

import pytest

from tests.e2e.conftest import RunningStack

PATIENCE_SECONDS: Final = 30
SIGNED_WITHIN_SECONDS: Final = 10
Document = dict[str, Any]
Probe = Callable[[RunningStack], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Right:
    """An action on resources whose names end like this, and a promise that needs it. The name of the key in KMS is
    drawn when the stack is made: an empty ending matches it."""

    function: str
    action: str
    resource: str
    kept: Probe

    def __str__(self) -> str:
        return f"{self.function} {self.action} {self.resource}"


def makes_a_key(stack: RunningStack) -> bool:
    form = {"name": "probe", "scopes": ["tasks:read"]}
    return stack.client(stack.admin_key).post("/api/v1/keys", form).status == 201


def lists_keys(stack: RunningStack) -> bool:
    return stack.client(stack.admin_key).get("/api/v1/keys").status == 200


def makes_a_tenant(stack: RunningStack) -> bool:
    form = {"tenant_id": f"probe-{uuid4().hex[:8]}"}
    return stack.client(stack.operator_key).post("/api/v1/ops/tenants", form).status == 201


def registers_a_task(stack: RunningStack) -> bool:
    return stack.client().post("/api/v1/tasks", _task(stack, delay_seconds=3600)).status == 201


def notes_the_use_of_a_key(stack: RunningStack) -> bool:
    admin = stack.client(stack.admin_key)
    form = {"name": "probe", "scopes": ["tasks:read"]}
    made = admin.post("/api/v1/keys", form).expect(201)
    stack.client(made["key"]).get("/api/v1/limits").expect(200)
    return admin.get(f"/api/v1/keys/{made['key_id']}").expect(200)["last_used_at"] is not None


def delivers_to_a_queue(stack: RunningStack) -> bool:
    client = stack.client()
    path = (
        f"/api/v1/tasks/{client.post('/api/v1/tasks', _task(stack, delay_seconds=0)).expect(201)['task_id']}"
    )
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        told = client.get(path).expect(200)
        if told["status"] == "SUCCEEDED":
            return True
        if told["attempts"] and told["status"] in ("RETRYING", "DEAD"):
            break
        time.sleep(0.2)
    client.delete(path)
    return False


def delivers_for_a_new_tenant(stack: RunningStack) -> bool:
    """No worker knows the data key of a tenant that was made now, and each delivery is signed."""
    client, tenant = stack.client(stack.operator_key), f"probe-{uuid4().hex[:8]}"
    form = {"tenant_id": tenant, "queues": [stack.destination_queue_url]}
    client.post("/api/v1/ops/tenants", form).expect(201)
    made = client.post("/api/v1/tasks", _task(stack, delay_seconds=0), postdate_tenant=tenant).expect(201)
    path, ends = f"/api/v1/tasks/{made['task_id']}", time.monotonic() + SIGNED_WITHIN_SECONDS
    while time.monotonic() < ends:
        if client.get(path, postdate_tenant=tenant).expect(200)["status"] == "SUCCEEDED":
            return True
        time.sleep(0.2)
    client.delete(path, postdate_tenant=tenant)
    return False


def _task(stack: RunningStack, *, delay_seconds: int) -> Document:
    target = {"type": "sqs", "queue_url": stack.destination_queue_url}
    return {"delay_seconds": delay_seconds, "target": target, "retry": {"max_attempts": 1}}


RIGHTS: Final = (
    Right(function="api", action="dynamodb:PutItem", resource="postdate-local-keys", kept=makes_a_key),
    Right(
        function="api",
        action="dynamodb:Query",
        resource="postdate-local-keys/index/by_tenant",
        kept=lists_keys,
    ),
    Right(function="api", action="dynamodb:PutItem", resource="postdate-local-tenants", kept=makes_a_tenant),
    Right(
        function="api", action="dynamodb:PutItem", resource="postdate-local-data-keys", kept=makes_a_tenant
    ),
    Right(function="api", action="kms:GenerateDataKey", resource="", kept=makes_a_tenant),
    Right(function="run-tasks", action="kms:Decrypt", resource="", kept=delivers_for_a_new_tenant),
    Right(function="api", action="dynamodb:BatchExecuteStatement", resource="*", kept=registers_a_task),
    Right(
        function="authorize",
        action="dynamodb:UpdateItem",
        resource="postdate-local-keys",
        kept=notes_the_use_of_a_key,
    ),
    Right(
        function="run-tasks",
        action="sqs:SendMessageBatch",
        resource="postdate-local-destination*",
        kept=delivers_to_a_queue,
    ),
)


@contextmanager
def without(stack: RunningStack, right: Right) -> Iterator[None]:
    """The function's role lacks this right until the end."""
    iam, functions = stack.aws("iam"), stack.aws("lambda")
    name = f"postdate-local-{right.function}"
    role = functions.get_function_configuration(FunctionName=name)["Role"].rpartition("/")[2]
    taken = dict[str, Document]()
    for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
        narrowed = {**document, "Statement": [_less(each, right) for each in document["Statement"]]}
        if narrowed != document:
            taken[policy] = document
            _put(iam, role, policy, narrowed)
    assert taken, f"{right} is no right of the function"
    try:
        yield
    finally:
        for policy, document in taken.items():
            _put(iam, role, policy, document)


def _less(statement: Document, right: Right) -> Document:
    """Without the action, which becomes one that does not exist: a statement needs one."""
    resources, actions = _listed(statement["Resource"]), _listed(statement["Action"])
    if not any(each.endswith(right.resource) for each in resources) or right.action not in actions:
        return statement
    return {**statement, "Action": [each for each in actions if each != right.action] or ["none:None"]}


def _listed(value: Any) -> list[str]:
    return list(value) if isinstance(value, list) else [value]


def _put(iam: Any, role: str, policy: str, document: Document) -> None:
    iam.put_role_policy(RoleName=role, PolicyName=policy, PolicyDocument=json.dumps(document))


@pytest.mark.parametrize("right", RIGHTS, ids=str)
def test_a_right_that_is_taken_away_is_missed(stack: RunningStack, right: Right) -> None:
    assert right.kept(stack)
    with without(stack, right):
        assert not right.kept(stack)
    assert right.kept(stack)
