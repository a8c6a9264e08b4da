"""Refusals of the API, each as a problem with its code: asked over HTTP, with real keys."""

import json
from typing import Any

import pytest

from cli.client import Answer
from tests.e2e.conftest import RunningStack

TARGET = {"type": "webhook", "url": "http://127.0.0.1:9/"}
GOOD: dict[str, Any] = {"delay_seconds": 600, "target": TARGET}


def assert_problem(answer: Answer, status: int, code: str, field: str | None = None) -> None:
    assert (answer.status, answer.body["code"]) == (status, code), answer.body
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.body["status"] == status
    assert answer.body["request_id"]
    if field is not None:
        assert field in [error["field"] for error in answer.body["errors"]]


@pytest.mark.parametrize("key", ["pd_nobody_secret", "nonsense", "pd_" + "x" * 300])
def test_without_a_good_key_nobody_gets_in(stack: RunningStack, key: str) -> None:
    answer = stack.client(key).get("/api/v1/tasks")
    assert_problem(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_right_key_id_with_a_wrong_secret_is_no_key(stack: RunningStack) -> None:
    forged = stack.api_key[:-1] + ("a" if stack.api_key[-1] != "a" else "b")
    assert_problem(stack.client(forged).get("/api/v1/tasks"), 401, "unauthenticated")


@pytest.mark.parametrize(
    ("body", "status", "code", "field"),
    [
        (GOOD | {"colour": "red"}, 422, "validation_failed", "colour"),
        (GOOD | {"target": TARGET | {"colour": 1}}, 422, "validation_failed", "target.colour"),
        (GOOD | {"delay_seconds": -1}, 422, "validation_failed", "delay_seconds"),
        (GOOD | {"delay_seconds": 31_536_001}, 422, "validation_failed", "delay_seconds"),
        (GOOD | {"delay_seconds": 1.5}, 422, "validation_failed", "delay_seconds"),
        (GOOD | {"delay_seconds": "60"}, 422, "validation_failed", "delay_seconds"),
        (GOOD | {"run_at": "2030-01-01T00:00:00Z"}, 422, "validation_failed", None),
        ({"target": TARGET}, 422, "validation_failed", None),
        ({"run_at": "2001-01-01T00:00:00Z", "target": TARGET}, 422, "validation_failed", "run_at"),
        ({"run_at": "2199-01-01T00:00:00Z", "target": TARGET}, 422, "validation_failed", "run_at"),
        ({"run_at": "2026-01-01T00:00:00", "target": TARGET}, 422, "validation_failed", "run_at"),
        (GOOD | {"payload": "x" * 262_144}, 413, "payload_too_large", None),
        (GOOD | {"retry": {"max_attempts": 51}}, 422, "validation_failed", "retry.max_attempts"),
        (GOOD | {"timeout_seconds": 901}, 422, "validation_failed", "timeout_seconds"),
        (GOOD | {"timeout_seconds": 61}, 422, "validation_failed", "timeout_seconds"),
        ({"delay_seconds": 1}, 422, "validation_failed", "target"),
        ([], 422, "validation_failed", None),
    ],
)
def test_a_wrong_body_is_refused(
    stack: RunningStack, body: Any, status: int, code: str, field: str | None
) -> None:
    assert_problem(stack.client().post("/api/v1/tasks", body), status, code, field)


def test_what_is_no_json_is_malformed(stack: RunningStack) -> None:
    for body in (b"{", b"", b"\xff\xfe", b'{"delay_seconds": NaN}'):
        assert_problem(stack.client().send("POST", "/api/v1/tasks", body), 400, "malformed")


@pytest.mark.parametrize(
    "url",
    [
        "https://169.254.169.254/latest/meta-data",
        "https://[64:ff9b::a9fe:a9fe]/",
        "https://127.1/",
        "https://10.0.0.1/",
        "https://localhost/",
        "https://user:word@example.com/",
        "ftp://127.0.0.1/",
    ],
)
def test_a_webhook_into_the_inside_is_refused(stack: RunningStack, url: str) -> None:
    body = GOOD | {"target": {"type": "webhook", "url": url}}
    assert_problem(stack.client().post("/api/v1/tasks", body), 422, "destination_not_allowed")


def test_a_queue_that_is_not_the_tenants_is_refused(stack: RunningStack) -> None:
    elsewhere = stack.destination_queue_url.replace("/000000000000/", "/111111111111/")
    for url in (elsewhere, stack.queues["tasks"]):
        body = GOOD | {"target": {"type": "sqs", "queue_url": url}}
        assert_problem(stack.client().post("/api/v1/tasks", body), 422, "destination_not_allowed")
    own = GOOD | {"target": {"type": "sqs", "queue_url": stack.destination_queue_url}}
    other_tenant = stack.client(stack.other_tenant_key)
    assert_problem(other_tenant.post("/api/v1/tasks", own), 422, "destination_not_allowed")


def test_a_bus_that_is_not_the_tenants_is_refused(stack: RunningStack) -> None:
    own = {"type": "eventbridge", "bus": stack.destinations["eventbridge"], "detail_type": "Order due"}
    elsewhere = stack.client().post("/api/v1/tasks", GOOD | {"target": own | {"bus": "default"}})
    assert_problem(elsewhere, 422, "destination_not_allowed")
    other_tenant = stack.client(stack.other_tenant_key)
    assert_problem(other_tenant.post("/api/v1/tasks", GOOD | {"target": own}), 422, "destination_not_allowed")


def test_another_tenants_task_does_not_exist(stack: RunningStack) -> None:
    task_id = stack.client().post("/api/v1/tasks", GOOD).expect(201)["task_id"]
    other = stack.client(stack.other_tenant_key)
    path = f"/api/v1/tasks/{task_id}"
    assert_problem(other.get(path), 404, "not_found")
    assert_problem(other.patch(path, {"payload": 1}), 404, "not_found")
    assert_problem(other.delete(path), 404, "not_found")
    assert stack.client().get(path).expect(200)["version"] == 1


def test_paths_ids_and_cursors_of_nobody(stack: RunningStack) -> None:
    client = stack.client()
    assert_problem(client.get("/api/v1/nothing"), 404, "not_found")
    assert_problem(client.get("/api/v1/tasks/task_0"), 404, "not_found")
    assert_problem(client.get("/api/v1/tasks?limit=0"), 422, "validation_failed", "limit")
    assert_problem(client.get("/api/v1/tasks?colour=red"), 422, "validation_failed", "colour")
    assert_problem(client.get("/api/v1/tasks?cursor=abc"), 422, "validation_failed", "cursor")
    assert_problem(client.get("/api/v1/tasks?status=SLEEPING"), 422, "validation_failed", "status")


def test_an_old_version_is_refused(stack: RunningStack) -> None:
    client = stack.client()
    created = client.post("/api/v1/tasks", GOOD)
    path = f"/api/v1/tasks/{created.expect(201)['task_id']}"
    etag = created.headers["etag"]
    client.patch(path, {"payload": 1}, If_Match=etag).expect(200)
    assert_problem(client.patch(path, {"payload": 2}, If_Match=etag), 412, "version_conflict")
    assert_problem(client.delete(path, If_Match=etag), 412, "version_conflict")


def test_one_bad_item_spoils_no_other(stack: RunningStack) -> None:
    tasks = [GOOD, GOOD | {"delay_seconds": -1}, GOOD | {"idempotency_key": "batch-1"}, 7]
    results = stack.client().post("/api/v1/tasks/batch", {"tasks": tasks}).expect(200)["results"]
    assert [("task" in result, result["index"]) for result in results] == [
        (True, 0),
        (False, 1),
        (True, 2),
        (False, 3),
    ]
    assert results[1]["error"]["code"] == "validation_failed"
    assert json.dumps(results[3]["error"]).count("validation_failed") >= 1
