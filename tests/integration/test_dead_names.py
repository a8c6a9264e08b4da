"""Names that nobody answers keep a batch no longer than the budget of all its names together."""

import socket
import threading
import time
from typing import Any

import pytest

from functions.api.tasks.checks.destinations import TIME_SECONDS
from postdate.targets import guard
from tests.integration.world import Client

NAMES = 100
# One after another in the resolver's threads: three seconds for each of four rounds.
WITHOUT_A_BUDGET = 9.0


def test_a_batch_of_a_hundred_names_that_hang_is_answered_within_its_budget(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    asked: list[str] = []

    def hangs(host: str, *_: Any, **__: Any) -> list[Any]:
        asked.append(host)
        over.wait(2 * WITHOUT_A_BUDGET)
        raise socket.gaierror(socket.EAI_AGAIN, "nobody answers")

    monkeypatch.setattr(guard._RESOLVER, "_lookup", hangs)
    tasks = [
        {
            "delay_seconds": 60,
            "target": {"type": "webhook", "url": f"https://n{number}.dead-names.example/"},
            "payload": {"n": number},
            "idempotency_key": f"dead-{number}",
        }
        for number in range(NAMES)
    ]
    began = time.monotonic()
    answer = client.call("POST", "/api/v1/tasks/batch", {"tasks": tasks})
    took = time.monotonic() - began
    over.set()
    assert answer.status == 200
    assert took < TIME_SECONDS + 3 < WITHOUT_A_BUDGET
    assert 0 < len(asked) < NAMES, "the names after these were not begun"
    codes = {result["error"]["code"] for result in answer.body["results"]}
    assert len(answer.body["results"]) == NAMES
    assert "unavailable" in codes
    assert client.call("GET", "/api/v1/tasks").body["tasks"] == []
