"""First tasks, from HTTP to their queue: the sign that a stack works."""

import time
from typing import Any, Final

from cli.client import Client
from cli.failure import Failure
from cli.local.stack import Stack
from cli.progress import step

AHEAD_SECONDS: Final = 4
PATIENCE_SECONDS: Final = 30
FINAL: Final = frozenset({"SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"})


def run(stack: Stack) -> list[dict[str, Any]]:
    """A task for now, which starts the functions that run it, and one ahead, which finds them started."""
    with Client(stack.api_url, stack.api_key) as client, step("running two tasks"):
        registered = [_register(client, stack, delay_seconds) for delay_seconds in (0, AHEAD_SECONDS)]
        return [_described(_ended(client, task)) for task in registered]


def _register(client: Client, stack: Stack, delay_seconds: int) -> dict[str, Any]:
    task: dict[str, Any] = client.post(
        "/api/v1/tasks",
        {
            "name": f"demo, {delay_seconds} s ahead",
            "delay_seconds": delay_seconds,
            "target": {"type": "sqs", "queue_url": stack.destination_queue_url},
            "payload": {"hello": "from Postdate"},
        },
    ).expect(201)
    return task


def _ended(client: Client, task: dict[str, Any]) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while task["status"] not in FINAL:
        if time.monotonic() > deadline:
            raise Failure(f"The task {task['task_id']} is still {task['status']}.")
        time.sleep(0.1)
        task = client.get(f"/api/v1/tasks/{task['task_id']}").expect(200)
    return task


def _described(task: dict[str, Any]) -> dict[str, Any]:
    last = task.get("last_run") or {}
    return {
        "task_id": task["task_id"],
        "name": task["name"],
        "status": task["status"],
        "planned_at": last.get("planned_at"),
        "lateness_ms": last.get("lateness_ms"),
    }
