"""A task under the names of the job API."""

from typing import Any

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

from functions.api.tasks.forms import BatchTaskForm


class JobForm(BatchTaskForm):
    """Exactly one of `runAt`, `delaySeconds` and `cron` is needed; further rules as for a task."""

    model_config = ConfigDict(alias_generator=to_camel)


def view(task: dict[str, Any]) -> dict[str, Any]:
    """Of a task as the task API tells it."""
    return {"jobId": task["task_id"], "status": task["status"]}


def details(task: dict[str, Any], *, attempts: int, failure: str | None) -> dict[str, Any]:
    return {
        **view(task),
        "attempts": attempts,
        "nextRun": task["next_run_at"],
        "failureReason": failure,
    }
