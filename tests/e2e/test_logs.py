"""What can be read afterwards: lines of INFO, and the way from a request's id to its line."""

import json
import time
from typing import Any, Final

from tests.e2e.conftest import RunningStack

PATIENCE_SECONDS: Final = 20
NOBODY_LISTENS: Final = {"type": "webhook", "url": "http://127.0.0.1:9/"}


def lines(stack: RunningStack, function: str, text: str) -> list[dict[str, Any]]:
    """The JSON lines of a function's log that hold this text, as soon as there is one."""
    logs = stack.aws("logs")
    deadline = time.monotonic() + PATIENCE_SECONDS
    found: list[dict[str, Any]] = []
    while not found and time.monotonic() < deadline:
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=f"/aws/lambda/postdate-local-{function}", filterPattern=f'"{text}"'
        )
        found = [
            json.loads(event["message"])
            for page in pages
            for event in page["events"]
            if event["message"].startswith("{")
        ]
        time.sleep(0.1)
    return found


def test_the_id_of_a_request_leads_to_its_line(stack: RunningStack) -> None:
    answer = stack.client().get("/api/v1/tasks/task_0")
    (line,) = lines(stack, "api", answer.body["request_id"])
    assert line["request_id"] == answer.body["request_id"]
    assert (line["status"], line["method"], line["path"]) == (404, "GET", "/api/v1/tasks/task_0")
    assert line["tenant"] == "demo"


def test_a_failed_attempt_leaves_a_line_of_level_info(stack: RunningStack) -> None:
    body = {"delay_seconds": 0, "target": NOBODY_LISTENS, "retry": {"max_attempts": 1}}
    task_id = stack.client().post("/api/v1/tasks", body).expect(201)["task_id"]
    told = lines(stack, "run-tasks", task_id)
    assert [line["level"] for line in told if line["task"] == task_id] == ["INFO"]
