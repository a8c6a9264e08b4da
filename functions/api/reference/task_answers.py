"""The shape of each answer about tasks."""

from typing import Final

from functions.api.reference.shapes import (
    COUNT,
    INSTANT,
    TEXT,
    VERSION,
    Schema,
    every,
    list_of,
    one_of,
    or_null,
    page_of,
    ref,
    results_of,
    told,
)
from postdate.domain.task import State
from postdate.domain.transitions import HISTORY_LINES_MAX

_STATUS: Final = one_of(State)

_TASK: Final[dict[str, Schema]] = {
    "task_id": told(TEXT, "It holds the minute that the task was registered for, so ids sort by time."),
    "status": told(
        _STATUS,
        "PENDING and RETRYING wait for an attempt. SUCCEEDED, DEAD and CANCELLED are final; only a redrive brings "
        "a DEAD task back.",
    ),
    "name": or_null(TEXT),
    "tags": list_of(TEXT),
    "target": {"oneOf": [ref("WebhookTarget"), ref("SqsTarget")]},
    "run_at": told(INSTANT, "The instant asked for."),
    "next_run_at": told(or_null(INSTANT), "When the next attempt is due; null when none is waiting."),
    "attempts": told(COUNT, "Attempts so far, counted anew after a redrive."),
    "last_run": or_null(ref("LastRun")),
    "error": told(or_null(TEXT), "Why the last attempt failed, in our words."),
    "retry": ref("Retry"),
    "timeout_seconds": COUNT,
    "created_at": INSTANT,
    "version": VERSION,
    "history": told(
        list_of(ref("HistoryLine")),
        f"One line a version: the first, and the newest {HISTORY_LINES_MAX - 1} after it.",
    ),
}

ANSWERS: Final[dict[str, Schema]] = {
    "Task": every(**_TASK),
    "TaskWithPayload": every(**_TASK, payload={"description": "The payload as it was given."}),
    "CancelledTask": every(success={"const": True}, **_TASK),
    "TaskList": page_of("tasks", "Task"),
    "BatchAnswer": results_of("task", "Task"),
    "WebhookTarget": every(
        type={"const": "webhook"},
        url=TEXT,
        method=TEXT,
        headers=told(
            {"type": "object", "additionalProperties": {"const": "***"}},
            "Names only: a value may be a credential.",
        ),
    ),
    "SqsTarget": every(type={"const": "sqs"}, queue_url=TEXT),
    "Retry": every(
        max_attempts=COUNT,
        initial_seconds={"type": "number"},
        multiplier={"type": "number"},
        max_seconds={"type": "number"},
        jitter={"type": "boolean"},
    ),
    "LastRun": every(
        planned_at=told(INSTANT, "The instant asked for."),
        started_at=told(INSTANT, "When the newest attempt was claimed."),
        finished_at=told(or_null(INSTANT), "When the task reached its final state."),
        lateness_ms=told({"type": "integer"}, "From the instant asked for to the first attempt's claim."),
        token=told(COUNT, "The number of the newest claim. The target is told the same."),
        status={"type": "string", "enum": ["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"]},
    ),
    "HistoryLine": every(
        version=COUNT,
        at=INSTANT,
        status=_STATUS,
        attempt=COUNT,
        reason=told(TEXT, "Why. For a claim: what sent the call."),
    ),
}
