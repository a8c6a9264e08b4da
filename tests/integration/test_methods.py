"""A path that exists takes some methods and names them; HEAD is GET without its body."""

from typing import Any

import pytest

from functions.api.reference.operations import OPERATIONS
from tests.integration.world import Answer, Client

PATHS = sorted({operation.path for operation in OPERATIONS})


def taken(path: str) -> set[str]:
    """By the routes that it may be read as: a word can stand where an id can."""
    asked = path.split("/")

    def fits(template: str) -> bool:
        steps = template.split("/")
        return len(steps) == len(asked) and all(
            step == each or step.startswith("{") for step, each in zip(steps, asked, strict=True)
        )

    methods = {operation.method.upper() for operation in OPERATIONS if fits(operation.path)}
    return methods | ({"HEAD"} if "GET" in methods else set())


def code(answer: Answer) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status, answer.body["code"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_another_method_of_a_known_path_is_refused_with_those_it_takes(
    client: Client, method: str, path: str
) -> None:
    asked = path.replace("{", "").replace("}", "")
    answer = client.call(method, asked, None)
    if method in taken(asked):
        assert answer.status != 405
        assert "allow" not in answer.headers
    else:
        assert code(answer) == (405, "method_not_allowed")
        assert set(answer.headers["allow"].split(", ")) == taken(asked)


@pytest.mark.parametrize(
    "path", ["/", "/api/v1", "/api/v1/tasks/x/y", "/api/v1/payments/x/cancel/y", "/health/x"]
)
@pytest.mark.parametrize("method", ["GET", "PUT", "HEAD"])
def test_a_path_that_does_not_exist_is_not_found_by_any_method(
    client: Client, method: str, path: str
) -> None:
    answer = client.call(method, path, None)
    assert answer.status == 404
    assert "allow" not in answer.headers


def test_nobody_learns_which_paths_exist(client: Client) -> None:
    def nobody(event: dict[str, Any]) -> None:
        event["requestContext"].pop("authorizer")

    for path in ("/api/v1/tasks", "/api/v1/nothing"):
        assert code(client.call("PUT", path, change=nobody)) == (401, "unauthenticated")


def test_head_answers_as_get_does_without_the_body(client: Client) -> None:
    task = f"/api/v1/tasks/{client.register(delay_seconds=600).body['task_id']}"
    for path in ("/health", "/openapi.json", "/docs", "/console", "/api/v1/tasks", task, "/api/v1/accounts"):
        head = client.call("HEAD", path)
        assert (head.status, head.body) == (200, None)
    assert client.call("HEAD", task).headers["etag"] == client.get(task).headers["etag"]
    missing = client.call("HEAD", f"{task}x")
    assert (missing.status, missing.body) == (404, None)


def test_what_the_caller_knows_is_not_sent_again(client: Client) -> None:
    task = f"/api/v1/tasks/{client.register(delay_seconds=600).body['task_id']}"
    for path in (task, "/api/v1/tasks", "/api/v1/whoami", "/console"):
        etag = client.get(path).headers["etag"]
        for method in ("GET", "HEAD"):
            known = client.call(method, path, headers={"if-none-match": f'"other", {etag}'})
            assert (known.status, known.body, known.headers["etag"]) == (304, None, etag)
        assert client.call("GET", path, headers={"if-none-match": '"other"'}).status == 200


def test_a_list_that_changed_is_sent_again(client: Client) -> None:
    etag = client.get("/api/v1/accounts").headers["etag"]
    client.accounts(new=0)
    again = client.call("GET", "/api/v1/accounts", headers={"if-none-match": etag})
    assert (again.status, again.body["accounts"][0]["account_id"]) == (200, "new")


def test_only_a_get_is_answered_with_what_is_known(client: Client) -> None:
    path = f"/api/v1/tasks/{client.register(delay_seconds=600).body['task_id']}"
    answer = client.call("PATCH", path, {"delay_seconds": 700}, {"if-none-match": '"2"'})
    assert (answer.status, answer.headers["etag"]) == (200, '"2"')


def test_head_of_what_is_only_posted_is_not_allowed(client: Client) -> None:
    answer = client.call("HEAD", "/v1/jobs/x/cancel")
    assert (answer.status, answer.headers["allow"], answer.body) == (405, "POST", None)


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_payment_is_cancelled_by_either_method(client: Client, method: str) -> None:
    client.accounts(alice=100, bob=0)
    path = f"/api/v1/payments/{client.pay(key='k').body['payment_id']}/cancel"
    for _ in range(2):
        answer = client.call(method, path)
        assert (answer.status, answer.body["success"], answer.body["status"]) == (200, True, "CANCELLED")
    assert client.get("/api/v1/accounts/alice").body["available"] == 100
