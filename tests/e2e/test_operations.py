"""Operations, carried out by the state machine that is deployed, with the rights that its parts really have."""

import time
from typing import Any, Final

from cli.client import Client
from tests.e2e.conftest import RunningStack
from tests.e2e.receiver import Receiver

DONE_WITHIN_SECONDS: Final = 60


def dead(client: Client, url: str, count: int, tag: str) -> list[str]:
    """So many tasks that have died of one answer 422."""
    task = {
        "delay_seconds": 0,
        "target": {"type": "webhook", "url": f"{url}/status/422"},
        "tags": [tag],
        "retry": {"max_attempts": 1},
    }
    answer = client.post("/api/v1/tasks/batch", {"tasks": [task] * count}).expect(200)
    ids = [result["task"]["task_id"] for result in answer["results"]]
    deadline = time.monotonic() + DONE_WITHIN_SECONDS
    while any(client.get(f"/api/v1/tasks/{id}").expect(200)["status"] != "DEAD" for id in ids):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    return ids


def ended(client: Client, operation_id: str, *states: str) -> dict[str, Any]:
    deadline = time.monotonic() + DONE_WITHIN_SECONDS
    while (told := client.get(f"/api/v1/operations/{operation_id}").expect(200))["state"] not in states:
        assert time.monotonic() < deadline, told
        time.sleep(0.2)
    return dict(told)


def test_dead_tasks_are_redriven_by_a_planned_operation(stack: RunningStack, receiver: Receiver) -> None:
    client = stack.client()
    ids = dead(client, receiver.url, 20, "redriven")
    asked = {"action": "redrive", "kind": "tasks", "ids": [*ids, "task_unknown"], "reason": "a test"}
    planned = client.post("/api/v1/operations", asked).expect(202)
    assert (planned["state"], planned["eligible"]["count"]) == ("PLANNED", 20)
    assert planned["not_eligible"] == [{"reason": "does not exist", "count": 1}]
    assert all(len(receiver.of(id)) == 1 for id in ids)
    client.post(f"/api/v1/operations/{planned['operation_id']}/start", {}).expect(202)
    told = ended(client, planned["operation_id"], "DONE")
    assert (told["failed"], told["done"], told["waiting"]) == (20, 0, 0)
    assert all(len(receiver.of(id)) == 2 for id in ids)
    items = client.get(f"/api/v1/operations/{planned['operation_id']}/items").expect(200)["items"]
    assert {item["outcome"] for item in items} == {"failed"}


def test_a_canary_that_fails_stops_an_operation(stack: RunningStack, receiver: Receiver) -> None:
    client = stack.client()
    ids = dead(client, receiver.url, 20, "canary")
    asked = {
        "action": "redrive",
        "kind": "tasks",
        "ids": ids,
        "dry_run": False,
        "reason": "a test",
        "canary": 2,
    }
    begun = client.post("/api/v1/operations", asked).expect(202)
    told = ended(client, begun["operation_id"], "STOPPED")
    assert (told["failed"], told["waiting"]) == (2, 18)
    assert sum(len(receiver.of(id)) for id in ids) == 22
