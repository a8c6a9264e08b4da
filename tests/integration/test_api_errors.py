"""Each error of a request is answered as a problem with a stable code."""

import base64
import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.boundary import Boundary, refused, unreachable
from tests.integration.world import Answer, Client, World, in_base64

TASKS = "/api/v1/tasks"
UNKNOWN = f"{TASKS}/task_0wh6jn0000000000000000va"


def problem(answer: Answer) -> tuple[int, str]:
    """The problem's status and code, after all its other members were checked."""
    assert answer.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "code", "request_id", "errors"} <= answer.body.keys()
    assert answer.body["status"] == answer.status
    assert answer.body["request_id"] == "request-1"
    assert answer.body["detail"]
    return answer.status, answer.body["code"]


def fields(answer: Answer) -> set[str]:
    assert problem(answer) == (422, "validation_failed")
    assert all(error["message"] for error in answer.body["errors"])
    return {error["field"] for error in answer.body["errors"]}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"colour": "red"}, "colour"),
        ({"retry": {"max_tries": 1}}, "retry.max_tries"),
        ({"retry": {"max_attempts": 51}}, "retry.max_attempts"),
        ({"delay_seconds": -1}, "delay_seconds"),
        ({"delay_seconds": 31_536_001}, "delay_seconds"),
        ({"delay_seconds": "5"}, "delay_seconds"),
        ({"delay_seconds": 5.5}, "delay_seconds"),
        ({"delay_seconds": True}, "delay_seconds"),
        ({"delay_seconds": None}, "body"),
        ({"run_at": "2030-01-01T00:00:00Z"}, "body"),
        ({"timeout_seconds": 901}, "timeout_seconds"),
        ({"timeout_seconds": 61}, "timeout_seconds"),
        ({"name": ""}, "name"),
        ({"tags": ["x"] * 11}, "tags"),
        ({"target": {"type": "ftp", "url": "https://example.com"}}, "target.type"),
        ({"target": {"type": "sqs"}}, "target.queue_url"),
        ({"target": {"type": "webhook", "url": "https://example.com", "port": 1}}, "target.port"),
        ({"target": None}, "target"),
    ],
)
def test_what_is_wrong_with_a_field_is_said_by_its_name(
    client: Client, body: dict[str, Any], field: str
) -> None:
    form = {"delay_seconds": 5, "target": client.target} | body
    assert fields(client.call("POST", TASKS, form)) == {field}
    assert client.get(TASKS).body["tasks"] == []


@pytest.mark.parametrize("ahead", [timedelta(minutes=-2), timedelta(days=366)], ids=["past", "too far"])
def test_an_instant_out_of_range_is_refused(client: Client, ahead: timedelta) -> None:
    run_at = (datetime.now(UTC) + ahead).isoformat()
    assert fields(client.register(run_at=run_at)) == {"run_at"}


@pytest.mark.parametrize("run_at", ["2030-01-01T00:00:00", "tomorrow", "1e9", 1_800_000_000])
def test_an_instant_without_an_offset_is_refused(client: Client, run_at: Any) -> None:
    assert fields(client.register(run_at=run_at)) == {"run_at"}


@pytest.mark.parametrize(
    "body",
    ["", "{", "delay_seconds=5", '{"delay_seconds":5,}', "\ud7ff{}", '{"a":"\\ud800"}', "[" * 5000, "NaN"],
)
@pytest.mark.parametrize("path", [TASKS, f"{TASKS}/batch"])
def test_a_body_that_is_no_json_is_malformed(client: Client, path: str, body: str) -> None:
    assert problem(client.call("POST", path, body)) == (400, "malformed")


def test_bytes_that_are_no_text_are_malformed(client: Client) -> None:
    def binary(event: dict[str, Any]) -> None:
        event["body"] = base64.b64encode(b'\xff\xfe{"delay_seconds":5}').decode()
        event["isBase64Encoded"] = True

    assert problem(client.call("POST", TASKS, "", change=binary)) == (400, "malformed")


@pytest.mark.parametrize("body", ["[]", "null", '"text"', "5"])
def test_json_that_is_no_object_is_not_valid(client: Client, body: str) -> None:
    assert fields(client.call("POST", TASKS, body)) == {"body"}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "9" * 5000])
def test_a_payload_that_cannot_be_sent_on_is_refused_and_not_changed(client: Client, number: str) -> None:
    body = json.dumps({"delay_seconds": 5, "target": client.target, "payload": ["?"]}).replace('"?"', number)
    assert client.call("POST", TASKS, body).status in (400, 422)


def test_a_payload_above_256_kb_is_too_large(client: Client) -> None:
    assert client.register(payload="x" * (256 * 1024 - 2)).status == 201
    assert problem(client.register(payload="x" * (256 * 1024 - 1))) == (413, "payload_too_large")
    assert problem(client.register(payload="🐈" * (64 * 1024))) == (413, "payload_too_large")


@pytest.mark.parametrize("authorizer", [None, {}, {"lambda": None}, {"lambda": {"tenant": "", "scopes": ""}}])
@pytest.mark.parametrize(("method", "path"), [("GET", TASKS), ("POST", TASKS), ("GET", "/nowhere")])
def test_a_caller_that_the_authorizer_does_not_know_is_refused(
    client: Client, method: str, path: str, authorizer: Any
) -> None:
    def unknown(event: dict[str, Any]) -> None:
        event["requestContext"].pop("authorizer")
        if authorizer is not None:
            event["requestContext"]["authorizer"] = authorizer

    answer = client.call(method, path, {}, change=unknown)
    assert problem(answer) == (401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_caller_that_the_authorizer_could_not_look_up_is_looked_up_by_the_api(
    client: Client, boundary: Boundary
) -> None:
    """The gateway would remember for a minute that a key could not be read."""

    def unread(event: dict[str, Any]) -> None:
        event["requestContext"]["authorizer"]["lambda"] = {"tenant": "", "key_id": "", "unavailable": "true"}

    boundary.admits = True
    boundary.fail("GetItem", *[unreachable] * 9)
    answer = client.call("GET", TASKS, change=unread)
    assert problem(answer) == (503, "unavailable")
    assert "www-authenticate" not in answer.headers
    boundary.clear()
    assert client.call("GET", TASKS, change=unread).status == 200


def test_a_key_that_is_revoked_is_refused_though_the_gateway_still_knows_it(
    client: Client, world: World
) -> None:
    assert client.get(TASKS).status == 200
    world.dynamodb.delete_item(TableName=world.tables["keys"], Key={"key_id": {"S": client.key_id}})
    deadline = time.monotonic() + 2.5
    while client.get(TASKS).status == 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert problem(client.get(TASKS)) == (401, "unauthenticated")


def test_a_key_costs_one_read_in_two_seconds(client: Client, boundary: Boundary) -> None:
    boundary.admits = True
    for _ in range(5):
        client.get(TASKS)
    assert 1 <= len(boundary.asked("GetItem")) <= 2
    assert all(asked["ConsistentRead"] for asked in boundary.asked("GetItem"))


def test_a_key_without_the_scope_is_forbidden(client: Client) -> None:
    reader = Client(tenant=client.tenant, queue_url=client.queue_url, scopes="tasks:read")
    assert problem(reader.register()) == (403, "forbidden")
    assert reader.get(TASKS).status == 200
    nobody = Client(tenant=client.tenant, scopes="")
    assert problem(nobody.get(TASKS)) == (403, "forbidden")


def test_another_tenants_task_is_not_found_by_any_way(client: Client, world: World) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    other = world.tenant(f"{client.tenant}-2")
    for method, body in (("GET", None), ("PATCH", {"delay_seconds": 9}), ("DELETE", None)):
        theirs, nobodys = other.call(method, path, body), other.call(method, UNKNOWN, body)
        assert problem(theirs) == problem(nobodys) == (404, "not_found")
    assert other.get(TASKS).body["tasks"] == []
    assert client.get(path).body["version"] == 1


@pytest.mark.parametrize("id", ["x", "task_", "task_0wh6jn00000000000000000u", "größe", "a" * 3000, ".."])
def test_an_id_that_is_none_of_ours_is_not_found(client: Client, id: str) -> None:
    assert problem(client.get(f"{TASKS}/{id}")) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("PUT", "/api/v1/task"), ("GET", "/api/v2/tasks")]
)
def test_a_path_that_does_not_exist_is_not_found(client: Client, method: str, path: str) -> None:
    assert problem(client.call(method, path, {})) == (404, "not_found")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("limit=1000", "limit"),
        ("limit=00019999", "limit"),
        ("limit=ten", "limit"),
        ("limit=-1", "limit"),
        ("limit=٣", "limit"),
        ("status=DONE", "status"),
        ("colour=red", "colour"),
        ("cursor=", "cursor"),
        ("cursor=nonsense", "cursor"),
        ("cursor=größe", "cursor"),
        (f"cursor={base64.urlsafe_b64encode(b'[1,2]').decode()}", "cursor"),
        (f"cursor={base64.urlsafe_b64encode(b'{}').decode()}", "cursor"),
        (f"cursor={base64.urlsafe_b64encode(b'[' * 3000).decode()}", "cursor"),
    ],
)
def test_a_list_is_asked_for_in_the_right_way_or_not_at_all(client: Client, query: str, field: str) -> None:
    assert fields(client.get(TASKS, query)) == {field}


def test_an_audit_goes_on_after_the_name_of_an_account(client: Client) -> None:
    assert client.get("/api/v1/audit", f"after={'x' * 255}").status == 200
    answer = client.get("/api/v1/audit", f"after={'x' * 256}")
    assert (problem(answer), fields(answer)) == ((422, "validation_failed"), {"after"})


def test_a_cursor_belongs_to_its_tenant_and_its_query(client: Client, world: World) -> None:
    for _ in range(3):
        client.register(delay_seconds=600)
    cursor = client.get(TASKS, "limit=1").body["next_cursor"]
    assert client.get(TASKS, f"limit=2&cursor={cursor}").status == 200
    other = world.tenant(f"{client.tenant}-2")
    assert fields(other.get(TASKS, f"cursor={cursor}")) == {"cursor"}
    assert fields(client.get(TASKS, f"status=DEAD&cursor={cursor}")) == {"cursor"}


@pytest.mark.parametrize("key", ["", "a b", "größe", "k" * 256, "a\nb"])
def test_an_idempotency_key_has_visible_characters(client: Client, key: str) -> None:
    assert fields(client.register(key=key)) == {"Idempotency-Key"}


@pytest.mark.parametrize("version", ["", "one", "1.0", 'W/"1"', "9999999999"])
def test_if_match_is_a_version(client: Client, version: str) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    assert fields(client.call("DELETE", path, headers={"if-match": version})) == {"If-Match"}


@pytest.mark.parametrize(
    "target",
    [
        {"type": "sqs", "queue_url": "https://sqs.us-east-1.amazonaws.com/999999999999/theirs"},
        {"type": "webhook", "url": "https://169.254.169.254/latest"},
        {"type": "webhook", "url": "https://[64:ff9b::a9fe:a9fe]/"},
        {"type": "webhook", "url": "https://127.1/"},
        {"type": "webhook", "url": "http://example.com/"},
        {"type": "webhook", "url": "ftp://example.com/"},
        {"type": "webhook", "url": "no url"},
    ],
    ids=lambda target: target.get("url", "queue"),
)
def test_a_destination_that_may_not_be_called_is_refused(client: Client, target: dict[str, str]) -> None:
    assert problem(client.register(target=target)) == (422, "destination_not_allowed")
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    assert problem(client.call("PATCH", path, {"target": target})) == (422, "destination_not_allowed")


def test_a_header_that_is_ours_to_set_is_refused(client: Client) -> None:
    target = {"type": "webhook", "url": "http://127.0.0.1:9/", "headers": {"Postdate-Token": "7"}}
    assert fields(client.register(target=target)) == {"target.headers"}


def test_what_breaks_inside_is_told_without_a_word_about_it(client: Client, boundary: Boundary) -> None:
    boundary.fail("GetItem", *[refused("AccessDeniedException", 400)] * 9)
    answer = client.get(UNKNOWN)
    assert problem(answer) == (500, "internal")
    assert "AccessDenied" not in json.dumps(answer.body)


def test_a_service_that_does_not_answer_is_unavailable_for_now(client: Client, boundary: Boundary) -> None:
    boundary.fail("GetItem", *[unreachable] * 9)
    answer = client.get(UNKNOWN)
    assert problem(answer) == (503, "unavailable")
    assert answer.headers["retry-after"] == "1"


def test_health_is_told_to_anybody(client: Client) -> None:
    def nobody(event: dict[str, Any]) -> None:
        event["requestContext"].pop("authorizer")

    assert client.call("GET", "/health", change=nobody).body == {"status": "ok"}
    assert problem(client.call("POST", TASKS, "{}", change=in_base64))[0] == 422
