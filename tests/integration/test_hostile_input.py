"""Requests of an attacker with a valid key: each is refused with a code, by name, and in an answer that stays
small."""

import json
import tracemalloc
from typing import Any, Final

import pytest

from tests.boundary import Boundary
from tests.integration.world import Answer, Client

TASKS: Final = "/api/v1/tasks"
SCHEDULE: Final = "/api/v1/payments/schedule"
LAMBDA_BYTES_MAX: Final = 6 * 1024 * 1024
WEBHOOK: Final = {"type": "webhook", "url": "http://127.0.0.1:9/"}
PAYMENT: Final = {"from_account_id": "alice", "to_account_id": "bob", "amount": 1, "delay_seconds": 600}


def said(answer: Answer) -> tuple[int, str, set[str]]:
    """Status, code and the fields that are named."""
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status, answer.body["code"], {error["field"] for error in answer.body["errors"]}


def task(**changes: Any) -> dict[str, Any]:
    return {"delay_seconds": 600, "target": WEBHOOK} | changes


def wrong(*fields: str) -> tuple[int, str, set[str]]:
    return 422, "validation_failed", set(fields)


MALFORMED: Final[tuple[int, str, set[str]]] = (400, "malformed", set())
NOT_JSON: Final[tuple[int, str, set[str]]] = (415, "unsupported_media_type", set())
TOO_LARGE: Final[tuple[int, str, set[str]]] = (413, "payload_too_large", set())
SIGNED: Final = WEBHOOK | {"headers": {"webhook_signature": "v1,x"}}
STRETCHED: Final = WEBHOOK | {"url": "https://\u0645\u0640\u062b.example/"}
WRONG: Final[list[tuple[str, Any, dict[str, str], tuple[int, str, set[str]]]]] = [
    (TASKS, '{"delay_seconds":1,"delay_seconds":2}', {}, MALFORMED),
    (TASKS, '{"payload":[{"a":{"b":1,"b":1}}]}', {}, MALFORMED),
    (SCHEDULE, '{"amount":1,"\\u0061mount":2}', {}, MALFORMED),
    (TASKS, b'{"name":"caf\xe9"}'.decode(errors="replace"), {}, MALFORMED),
    (TASKS, task(), {"content-type": "text/plain"}, NOT_JSON),
    (TASKS, task(), {"content-type": ""}, NOT_JSON),
    (TASKS, task(), {"content-type": "application/json; charset=latin1"}, NOT_JSON),
    (TASKS, task(name="a\u202eb"), {}, wrong("name")),
    (TASKS, task(tags=["ok", "\u200b"]), {}, wrong("tags.1")),
    (SCHEDULE, PAYMENT | {"description": "a\x00"}, {}, wrong("description")),
    (TASKS, {"cron": "0\xa00 * * *", "target": WEBHOOK}, {}, wrong("cron")),
    (TASKS, {"cron": "0 0\u2028* * *", "target": WEBHOOK}, {}, wrong("cron")),
    (f"{TASKS}/preview", {"cron": ""}, {}, wrong("cron")),
    (f"{TASKS}/preview", {"cron": "@daily", "timezone": ""}, {}, wrong("timezone")),
    (TASKS, task(target=SIGNED), {}, wrong("target.headers")),
    (TASKS, task(target=STRETCHED), {}, (422, "destination_not_allowed", set())),
    (TASKS, "x" * (1024 * 1024 + 1), {}, TOO_LARGE),
    (f"{TASKS}/batch", "x" * (5 * 1024 * 1024 + 1), {}, TOO_LARGE),
    (f"{SCHEDULE}/batch", "x" * (5 * 1024 * 1024 + 1), {}, TOO_LARGE),
    ("/v1/jobs", {"runAt": "2199-01-01T00:00:00Z", "target": WEBHOOK}, {}, wrong("runAt")),
    ("/v1/jobs", {"runAt": "0001-01-01T00:00:00Z", "target": WEBHOOK}, {}, wrong("runAt")),
]


@pytest.mark.parametrize(("path", "body", "headers", "told"), WRONG)
def test_hostile_input_is_refused_by_name_and_asks_no_table(
    client: Client,
    boundary: Boundary,
    path: str,
    body: Any,
    headers: dict[str, str],
    told: tuple[int, str, set[str]],
) -> None:
    boundary.clear()
    assert said(client.call("POST", path, body, {"idempotency-key": "k"} | headers)) == told
    assert {call.operation for call in boundary.calls} <= {"GetItem"}


@pytest.mark.parametrize("field", ["cron", "timezone"])
def test_a_plan_is_not_changed_to_an_empty_text(client: Client, field: str) -> None:
    path = (
        f"{TASKS}/{client.call('POST', TASKS, {'cron': '@daily', 'target': client.target}).body['task_id']}"
    )
    assert said(client.call("PATCH", path, {field: ""})) == (422, "validation_failed", {field})
    assert client.get(path).body["version"] == 1


@pytest.mark.parametrize("version", ['"1', '1"', "\u0661", '"\uff11"'])
def test_a_version_has_both_its_quotes_or_none(client: Client, version: str) -> None:
    path = f"{TASKS}/{client.register(delay_seconds=600).body['task_id']}"
    assert said(client.call("DELETE", path, headers={"if-match": version})) == (
        422,
        "validation_failed",
        {"If-Match"},
    )
    assert client.get(path).body["status"] == "PENDING"


@pytest.mark.parametrize("edge", ["0001-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"])
def test_an_instant_outside_1970_to_2200_is_refused_everywhere(client: Client, edge: str) -> None:
    client.accounts(alice=0)
    plan = (
        f"{TASKS}/{client.call('POST', TASKS, {'cron': '@daily', 'target': client.target}).body['task_id']}"
    )
    now = "2026-01-01T00:00:00Z"
    refused = (422, "validation_failed")
    assert said(client.call("POST", f"{plan}/backfill", {"from": edge, "to": now})) == (*refused, {"from"})
    assert said(client.call("POST", f"{plan}/backfill", {"from": now, "to": edge})) == (*refused, {"to"})
    assert said(client.call("PATCH", plan, {"end_at": edge})) == (*refused, {"end_at"})
    assert said(client.call("POST", f"{TASKS}/preview", {"cron": "@daily", "from": edge})) == (
        *refused,
        {"from"},
    )
    forecast = client.get("/api/v1/accounts/alice/forecast", f"until={edge}")
    assert said(forecast) == (*refused, {"until"})


def test_a_crowd_of_unknown_fields_is_told_in_a_small_answer_with_little_memory(client: Client) -> None:
    """A body of 1 MB full of unknown fields: they took hundreds of megabytes and were named one by one."""
    body = json.dumps({f"f{number:05}": 0 for number in range(70_000)}, separators=(",", ":"))
    tracemalloc.start()
    answer = client.call("POST", TASKS, body)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert said(answer) == (422, "validation_failed", {"body"})
    assert answer.bytes_sent < 2_000
    assert peak < 60_000_000


def test_many_wrong_fields_with_long_names_are_told_in_twenty_lines(client: Client) -> None:
    answer = client.call("POST", TASKS, {f"{number:03}{'🐈' * 500}": 0 for number in range(99)})
    assert len(answer.body["errors"]) == 20
    assert answer.bytes_sent < 40_000


@pytest.mark.parametrize("char", ['"', "\\", "🐈", "家", "x"])
def test_a_batch_and_a_list_fit_into_an_answer_of_lambda(client: Client, char: str) -> None:
    """The largest metadata that a payment may have, of characters that take the most room."""
    client.accounts(alice=100, bob=0)
    metadata = {f"{number:02}{char * 38}": char * 500 for number in range(20)}
    payments = [
        PAYMENT | {"idempotency_key": f"k{number}", "metadata": metadata, "description": char * 500}
        for number in range(100)
    ]
    body = json.dumps({"payments": payments}, ensure_ascii=False)
    answer = client.call("POST", f"{SCHEDULE}/batch", body)
    assert all("payment" in result for result in answer.body["results"])
    assert answer.bytes_sent < LAMBDA_BYTES_MAX
    page = client.get("/api/v1/payments", "limit=100&account_id=alice")
    assert len(page.body["payments"]) == len(payments)
    assert page.bytes_sent < LAMBDA_BYTES_MAX


def test_a_batch_of_nothing_but_mistakes_fits_too(client: Client) -> None:
    wrong = {f"{number:03}{'🐈' * 95}": 0 for number in range(99)}
    answer = client.call("POST", f"{TASKS}/batch", json.dumps({"tasks": [wrong] * 100}, ensure_ascii=False))
    assert [result["error"]["code"] for result in answer.body["results"]] == ["validation_failed"] * 100
    assert answer.bytes_sent < LAMBDA_BYTES_MAX
