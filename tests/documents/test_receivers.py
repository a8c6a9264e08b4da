"""The example of a receiver beside the running stack, and the page that describes what receivers get."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.client import Client
from cli.local import node
from cli.local.once import ROOT
from functions.api.reference import receiving
from tests.e2e.conftest import RunningStack

LONG_WORK = {"ack": "explicit", "timeout_seconds": 5}


@pytest.fixture(scope="module")
def worker(stack: RunningStack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = {
        "POSTDATE_LOCAL_DIR": str(stack.place.directory),
        "WORKER_DATABASE": str(tmp_path_factory.mktemp("worker") / "worker.sqlite"),
        "WORKER_HEARTBEAT_SECONDS": "0.5",
        "WORKER_LONG_SECONDS": "7",
        "WORKER_PORT": "0",
    }
    with subprocess.Popen(
        [sys.executable, "-m", "examples.worker"],
        cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        yield process.stdout.readline().rpartition(" ")[2].strip()
        process.terminate()


def ended(client: Client, run_id: str) -> dict[str, Any]:
    ends_at = time.monotonic() + 40
    while True:
        run: dict[str, Any] = client.get(f"/api/v1/runs/{run_id}").expect(200)
        if run["finished_at"] or time.monotonic() > ends_at:
            return run
        time.sleep(0.2)


def test_the_example_ends_what_is_due_once_and_what_recurs(stack: RunningStack, worker: str) -> None:
    """The long work takes longer than the receiver may be silent, so heartbeats are part of it."""
    client = stack.client()
    quick = {"type": "webhook", "url": f"{worker}/work"}
    long = {"type": "webhook", "url": f"{worker}/long-work"}
    payload = {"order": 4711}
    runs = [
        client.post("/api/v1/tasks", {"delay_seconds": 0, "target": quick, "payload": payload}),
        client.post("/api/v1/tasks", {"delay_seconds": 0, "target": long, "payload": payload} | LONG_WORK),
    ]
    ids = [answer.expect(201)["task_id"] for answer in runs]
    recurring = {"cron": "0 0 1 1 *", "target": long, "payload": payload} | LONG_WORK
    task_id = client.post("/api/v1/tasks", recurring).expect(201)["task_id"]
    ids.append(client.post(f"/api/v1/tasks/{task_id}/trigger", {}).expect(201, 202)["run_id"])
    found = [ended(client, id) for id in ids]
    client.delete(f"/api/v1/tasks/{task_id}").expect(200)
    assert [(run["status"], len(run["attempts"])) for run in found] == [("SUCCEEDED", 1)] * 3


def test_the_documentation_shows_the_receivers_contract(stack: RunningStack, tmp_path: Path) -> None:
    client, page, description = stack.client(""), tmp_path / "docs.html", tmp_path / "openapi.json"
    page.write_text(client.get("/docs").expect(200), encoding="utf-8")
    description.write_text(json.dumps(client.get("/openapi.json").expect(200)), encoding="utf-8")
    shown = subprocess.run(
        [node.tools() / "bin" / "node", "tests/documents/page.mjs", page, description],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    text = " ".join(shown.split())
    told = [
        *receiving.PARAGRAPHS,
        *(each for name, (_, each) in receiving.HEADERS.items() if name != "Content-Type"),
        *receiving.ANSWERS.values(),
    ]
    assert [each for each in told if " ".join(each.replace("`", "").split()) not in text] == []
