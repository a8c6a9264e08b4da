"""The way through the sweeper: last of all files, because its task is due 90 seconds after the stack came up."""

import time
from datetime import UTC, datetime
from typing import Any

from tests.e2e.conftest import RunningStack
from tests.e2e.test_tasks import ended


def test_a_task_past_the_horizon_comes_through_the_sweeper_alone(
    stack: RunningStack, swept: dict[str, Any]
) -> None:
    """Registered when the stack came up, 90 s ahead. The queue held nothing of it then; its history names the way."""
    due_at = datetime.fromisoformat(swept["run_at"])
    time.sleep(max(0.0, (due_at - datetime.now(UTC)).total_seconds()))
    task = ended(stack, swept["task_id"])
    assert task["status"] == "SUCCEEDED"
    assert [line["reason"] for line in task["history"]] == ["registered", "sweep", "delivered"]
    assert task["last_run"]["lateness_ms"] >= 0
