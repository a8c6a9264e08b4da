"""A task as the API tells it."""

from typing import Any

from functions.api.forms import text_of
from functions.api.tasks import targets
from postdate.domain.flow import FlowControl
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import State, Task


def view(task: Task) -> dict[str, Any]:
    """A task as its owner sees it. Values of headers may be credentials: only their names are told."""
    return {
        "task_id": task.id,
        "status": task.state.value,
        "name": task.name,
        "tags": list(task.tags),
        "target": targets.view(task.destination),
        "payload_ref": task.payload.ref,
        "run_at": text_of(task.planned_at),
        "next_run_at": text_of(task.due_at) if task.state.waits else None,
        "attempts": task.attempts,
        "last_run": _last_run(task),
        "error": task.error,
        "retry": retry(task.retry),
        "timeout_seconds": task.timeout_seconds,
        "ack": task.ack.value,
        "expires_at": text_of(task.expires_at),
        "flow_control": flow_control(task.flow),
        "created_at": text_of(task.created_at),
        "version": task.version,
        "history": [
            {
                "version": line.version,
                "at": text_of(line.at),
                "status": line.to.value,
                "attempt": line.attempt,
                "reason": line.why,
            }
            for line in task.history
        ],
    }


def retry(policy: RetryPolicy) -> dict[str, Any]:
    return {name: getattr(policy, name) for name in RetryPolicy.__dataclass_fields__}


def flow_control(flow: FlowControl | None) -> dict[str, Any] | None:
    if flow is None:
        return None
    return {name: getattr(flow, name) for name in FlowControl.__dataclass_fields__}


def _last_run(task: Task) -> dict[str, Any] | None:
    """The newest attempt as the history tells it: the line after its start says how it ended. A claim under which
    nothing was sent is none: the line after it counts one attempt less."""
    lines = task.history
    ends = (*lines[1:], None)
    starts = [
        place
        for place, (line, end) in enumerate(zip(lines, ends, strict=True))
        if line.to is State.RUNNING and not (end and end.attempt < line.attempt)
    ]
    if not starts:
        return None
    start, *later = task.history[starts[-1] :]
    end = later[0] if later else None
    ended_well = end is not None and end.to is State.SUCCEEDED
    return {
        "planned_at": text_of(task.planned_at),
        "started_at": text_of(start.at),
        "finished_at": text_of(end.at if end else None),
        "lateness_ms": task.lateness_ms,
        "token": task.token,
        "status": "RUNNING" if end is None else "SUCCEEDED" if ended_well else "FAILED",
    }
