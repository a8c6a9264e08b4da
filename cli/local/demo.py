"""A first task, from HTTP to its queue: the sign that a stack works."""

import time
from datetime import UTC, datetime
from typing import Any, Final

from cli.client import Client
from cli.failure import Failure
from cli.local.stack import Stack
from cli.progress import step

AHEAD_SECONDS: Final = 3
PATIENCE_SECONDS: Final = 30
FINAL: Final = frozenset({"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"})


def run(stack: Stack) -> dict[str, Any]:
    """Registers it, waits for its end, and answers what the API then says of it."""
    with Client(stack.api_url, stack.api_key) as client, step("running a first task"):
        task = client.post(
            "/api/v1/tasks",
            {
                "name": "a first task",
                "delay_seconds": AHEAD_SECONDS,
                "target": {"type": "sqs", "queue_url": stack.destination_queue_url},
                "payload": {"hello": "from Postdate", "registered_at": datetime.now(UTC).isoformat()},
            },
        ).expect(201)
        deadline = time.monotonic() + AHEAD_SECONDS + PATIENCE_SECONDS
        while task["status"] not in FINAL:
            if time.monotonic() > deadline:
                raise Failure(f"The first task is still {task['status']}: {task}")
            time.sleep(0.1)
            task = client.get(f"/api/v1/tasks/{task['task_id']}").expect(200)
    run = task["last_run"] or {}
    return {
        "task_id": task["task_id"],
        "status": task["status"],
        "planned_at": run.get("planned_at"),
        "lateness_ms": run.get("lateness_ms"),
    }
