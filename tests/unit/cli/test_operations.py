"""Operations from the command line: a plan unless started, and followed to the end."""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from cli import operations
from cli.local.listening import Answering, listening
from cli.main import main
from cli.service import KEY, URL

PLANNED: Final[dict[str, Any]] = {
    "operation_id": "op_1",
    "action": "redrive",
    "kind": "tasks",
    "state": "PLANNED",
    "reason": "it is back",
    "stopped_because": None,
    "eligible": {"count": 3, "by_failure": {"http 503": 3}, "by_destination": {"https://a": 3}},
    "not_eligible": [{"reason": "is SUCCEEDED, not DEAD", "count": 1}],
    "waiting": 3,
    "sent": 0,
    "done": 0,
    "failed": 0,
    "changed": 0,
}
RUNNING: Final = PLANNED | {"state": "RUNNING"}
DONE: Final = PLANNED | {"state": "DONE", "waiting": 0, "done": 3}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str, Any]]]:
    """Requests to the API. An operation is RUNNING after its start, and DONE at the next read."""
    found: list[tuple[str, str, Any]] = []

    class Api(Answering):
        def called(self) -> None:
            body = self.body()
            found.append((self.command, self.path, json.loads(body) if body else None))
            answer = DONE if self.command == "GET" else RUNNING if self.path.endswith("/start") else PLANNED
            if "/items" in self.path:
                answer = {"items": [{"item_id": "task_1", "outcome": "done"}], "next_cursor": None}
            elif self.path.startswith("/api/v1/operations?"):
                answer = {"operations": [DONE], "next_cursor": None}
            text = json.dumps(answer).encode()
            self.send_response(202 if self.command == "POST" else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    monkeypatch.setattr("cli.operations._LOOK_SECONDS", 0.0)
    with listening(Api) as url:
        monkeypatch.setenv(URL, url)
        monkeypatch.setenv(KEY, "pd_1_s")
        yield found


def test_a_redrive_is_a_plan_unless_it_is_started(
    asked: list[tuple[str, str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [
        "redrive",
        "--tag",
        "a",
        "--from",
        "2026-11-18T10:00:00Z",
        "--reason",
        "it is back",
        "--canary",
        "2",
    ]
    assert main([*given, "--stop-at", "0.3"]) == 0
    assert asked == [
        (
            "POST",
            "/api/v1/operations",
            {
                "action": "redrive",
                "kind": "tasks",
                "filter": {"tag": "a", "from": "2026-11-18T10:00:00Z"},
                "reason": "it is back",
                "canary": 2,
                "stop_when": {"failed_share": 0.3, "within": 60},
            },
        )
    ]
    told = capsys.readouterr().out
    for text in (
        "op_1",
        "PLANNED",
        "3 waiting",
        "http 503",
        "is SUCCEEDED, not DEAD",
        "operations start op_1",
    ):
        assert text in told


def test_one_that_is_started_is_followed_to_its_end(
    asked: list[tuple[str, str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["operations", "retry", "task_1", "--reason", "now", "--start", "--json"]) == 0
    assert [(method, path) for method, path, _ in asked] == [
        ("POST", "/api/v1/operations"),
        ("POST", "/api/v1/operations/op_1/start"),
        ("GET", "/api/v1/operations/op_1"),
    ]
    assert asked[0][2]["ids"] == ["task_1"]
    told = capsys.readouterr()
    assert json.loads(told.out)["operation"]["state"] == "DONE"
    assert "3 done" in told.err


def test_the_rate_and_the_time_that_is_left_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Items that were acted on before the command began to look do not count."""
    seen = [RUNNING | {"waiting": waiting, "done": 100 - waiting} for waiting in (90, 60, 60, 0)]
    seen[-1] |= {"state": "DONE"}
    instants, answers = iter((0.0, 2.0, 9.0, 9.0)), iter(seen[1:])

    class Api:
        def get(self, path: str) -> dict[str, Any]:
            return next(answers)

    operations.followed(Api(), seen[0], pause=lambda _: None, clock=lambda: next(instants))  # type: ignore[arg-type]
    assert capsys.readouterr().err.splitlines() == [
        "RUNNING  60 waiting, 40 done; 15.0 a second, about 4 s left",
        "DONE     100 done; 10.0 a second",
    ]


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_plans_are_paused_and_resumed(asked: list[tuple[str, str, Any]], action: str) -> None:
    assert main(["operations", f"{action}-plans", "--tag", "nightly", "--reason", "maintenance"]) == 0
    assert asked == [
        (
            *("POST", "/api/v1/operations"),
            {
                "action": action,
                "kind": "plans",
                "filter": {"tag": "nightly"},
                "reason": "maintenance",
            },
        )
    ]


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (["list"], "/api/v1/operations?limit=100"),
        (["show", "op_1"], "/api/v1/operations/op_1"),
        (["stop", "op_1"], "/api/v1/operations/op_1/stop"),
        (["resume", "op_1"], "/api/v1/operations/op_1/resume"),
    ],
)
def test_each_step_is_one_request(
    asked: list[tuple[str, str, Any]], capsys: pytest.CaptureFixture[str], given: list[str], path: str
) -> None:
    assert main(["operations", *given]) == 0
    assert asked[0][1] == path
    assert "op_1" in capsys.readouterr().out
