"""`postdate archive` on the stack: the machine runs with the rights of its role, and the objects are read back."""

import json
import os
import subprocess
import sys
from typing import Any

from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack


def archive(stack: RunningStack, *given: str) -> Any:
    ran = subprocess.run(
        [sys.executable, "-m", "cli.main", "archive", *given, "--json", "--port", str(stack.place.port)],
        cwd=ROOT, env=os.environ | {"POSTDATE_LOCAL_DIR": str(stack.place.directory)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def told(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {event["event_id"]: event for event in events}


def test_the_events_of_today_are_archived_verified_and_read_back(stack: RunningStack) -> None:
    client = stack.client()
    client.post(
        "/api/v1/tasks",
        {"delay_seconds": 3600, "target": {"type": "sqs", "queue_url": stack.destination_queue_url}},
    ).expect(201)
    seen = client.get("/api/v1/events?wait_seconds=18&limit=100").expect(200)["events"]
    assert seen != []
    assert archive(stack, "run", "--today")["events"] >= len(seen)
    found = archive(stack, "verify")
    assert (found["ok"], found["problems"]) == (True, [])
    tenant = client.get("/api/v1/whoami").expect(200)["tenant"]
    there = told(archive(stack, "read", "--tenant", tenant)["events"])
    assert {id: there[id] for id in told(seen)} == told(seen)
