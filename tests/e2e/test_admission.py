"""Admission of requests, and the functions that each request invokes: asked of the gateway itself, counted by the
lines in the functions' logs."""

import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from cli import tenants
from cli.local import aws
from tests.e2e.conftest import RunningStack

TASKS: Final = "/api/v1/tasks"
LOGGED_WITHIN_SECONDS: Final = 1.0
REFUSED_WITHIN_SECONDS: Final = 2.5


@pytest.fixture(scope="module")
def woken(stack: RunningStack) -> Callable[[str], int]:
    """Number of a function's invocations until now."""
    logs = stack.aws("logs")

    def count(function: str) -> int:
        time.sleep(LOGGED_WITHIN_SECONDS)
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=f"/aws/lambda/postdate-local-{function}", filterPattern='"START RequestId"'
        )
        return sum(len(page["events"]) for page in pages)

    return count


@pytest.fixture
def key(stack: RunningStack) -> str:
    """A new one, of the demo tenant."""
    with aws.speaking_to(stack.place):
        return tenants.key(stack.key_table, "demo", frozenset({"tasks:read"}))


def row_of(key: str) -> dict[str, Any]:
    return {"key_id": {"S": key.split("_")[1]}}


@pytest.mark.parametrize(
    ("method", "path"), [("GET", TASKS), ("POST", TASKS), ("GET", "/nowhere"), ("PUT", "/health")]
)
def test_a_request_without_a_key_is_refused_by_the_gateway_and_wakes_nobody(
    stack: RunningStack, woken: Callable[[str], int], method: str, path: str
) -> None:
    before = woken("authorize"), woken("api")
    for headers in ({}, {"Authorization": ""}):
        answer = stack.client("").send(method, path, headers=headers)
        assert (answer.status, answer.body) == (401, {"message": "Unauthorized"})
    assert (woken("authorize"), woken("api")) == before


def test_a_key_that_was_seen_wakes_one_function(
    stack: RunningStack, woken: Callable[[str], int], key: str
) -> None:
    before = woken("authorize"), woken("api")
    stack.client(key).get(TASKS).expect(200)
    assert (woken("authorize"), woken("api")) == (before[0] + 1, before[1] + 1)
    for _ in range(5):
        stack.client(key).get(TASKS).expect(200)
        stack.client(key).get("/api/v1/tasks/task_0").expect(404)
    assert (woken("authorize"), woken("api")) == (before[0] + 1, before[1] + 11)


def test_a_wrong_key_is_refused_by_us_and_wakes_one_function_when_it_comes_again(
    stack: RunningStack, woken: Callable[[str], int], key: str
) -> None:
    before = woken("authorize")
    for _ in range(5):
        answer = stack.client(f"{key}x").get(TASKS)
        assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
    assert woken("authorize") == before + 1


@pytest.mark.parametrize("how", ["deleted", "ended", "replaced"])
def test_a_key_that_is_revoked_is_refused_while_the_gateway_still_knows_it(
    stack: RunningStack, woken: Callable[[str], int], key: str, how: str
) -> None:
    client, rows, table = stack.client(key), stack.aws("dynamodb"), stack.tables["keys"]
    client.get(TASKS).expect(200)
    authorized = woken("authorize")
    if how == "deleted":
        rows.delete_item(TableName=table, Key=row_of(key))
    else:
        name, value = {"ended": ("expires_at", {"N": "1"}), "replaced": ("secret_sha256", {"S": "0" * 64})}[
            how
        ]
        rows.update_item(
            TableName=table,
            Key=row_of(key),
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": value},
        )
    revoked = time.monotonic()
    while client.get(TASKS).status == 200:
        assert time.monotonic() < revoked + REFUSED_WITHIN_SECONDS
        time.sleep(0.05)
    for _ in range(20):
        answer = client.get(TASKS)
        assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
    assert woken("authorize") == authorized


def test_the_internal_route_wakes_no_authorizer_and_refuses_by_itself(
    stack: RunningStack, woken: Callable[[str], int]
) -> None:
    before = woken("authorize")
    path, form = "/api/v1/internal/payments/pay_0wh6jn0000000000000000va/execute", {"execution_id": "e"}
    nobody = stack.client("").post(path, form)
    assert (nobody.status, nobody.body["code"]) == (401, "unauthenticated")
    known = stack.client("").post(path, form, X_Internal_Auth=stack.internal_token)
    assert (known.status, known.body["code"]) == (404, "not_found")
    assert woken("authorize") == before


def test_the_open_pages_are_there_for_get_and_head_and_nothing_else(stack: RunningStack) -> None:
    for path in ("/health", "/openapi.json", "/docs"):
        assert stack.client("").get(path).status == 200
        head = stack.client("").send("HEAD", path)
        assert (head.status, head.body) == (200, "")
        other = stack.client().send("DELETE", path)
        assert (other.status, other.headers["allow"]) == (405, "GET, HEAD")
