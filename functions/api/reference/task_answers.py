"""The shape of each answer about tasks."""

from typing import Final

from functions.api.reference.shapes import (
    COUNT,
    INSTANT,
    TEXT,
    VERSION,
    Schema,
    either,
    every,
    list_of,
    one_of,
    or_null,
    page_of,
    ref,
    results_of,
    told,
)
from postdate.domain.backfill import State as OperationState
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Overlap
from postdate.domain.definition import State as DefinitionState
from postdate.domain.task import Ack, State
from postdate.domain.transitions import HISTORY_LINES_MAX
from postdate.targets.kind import HIDDEN, Shape
from postdate.targets.registry import KINDS

_STATUS: Final = one_of(State)

_PAYLOAD_REF: Final = told(
    or_null(TEXT), "Where the payload is read at each attempt; null when it was given."
)
_SHOWN: Final[dict[Shape, Schema]] = {
    Shape.TEXT: TEXT,
    Shape.NAME: TEXT,
    Shape.PAIRS: told(
        {"type": "object", "additionalProperties": {"const": HIDDEN}},
        "Names only: a value may be a credential.",
    ),
}
_TARGET: Final = either(*(f"{kind.title}Target" for kind in KINDS.values()))
PAYLOAD: Final[Schema] = {"description": "The payload as it was given; null when it is a reference."}

TASK: Final[dict[str, Schema]] = {
    "task_id": told(TEXT, "It holds the minute that the task was registered for, so ids sort by time."),
    "status": told(
        _STATUS,
        "PENDING and RETRYING wait for an attempt. SUCCEEDED, DEAD, CANCELLED and EXPIRED are final; only a redrive "
        "brings a DEAD task back. SKIPPED and MISSED are for runs of recurring tasks.",
    ),
    "name": or_null(TEXT),
    "tags": list_of(TEXT),
    "target": _TARGET,
    "payload_ref": _PAYLOAD_REF,
    "run_at": told(INSTANT, "The instant asked for."),
    "next_run_at": told(or_null(INSTANT), "When the next attempt is due; null when none is waiting."),
    "attempts": told(COUNT, "Attempts so far, counted anew after a redrive."),
    "last_run": or_null(ref("LastRun")),
    "error": told(or_null(TEXT), "Why the last attempt failed, in our words."),
    "retry": ref("Retry"),
    "timeout_seconds": COUNT,
    "ack": one_of(Ack),
    "expires_at": told(
        or_null(INSTANT), "After this instant no attempt begins, nor later than 60 days after `run_at`."
    ),
    "flow_control": or_null(ref("FlowControl")),
    "created_at": INSTANT,
    "version": VERSION,
    "history": told(
        list_of(ref("HistoryLine")),
        f"One line a version: the first, and the newest {HISTORY_LINES_MAX - 1} after it.",
    ),
}

RECURRING: Final[dict[str, Schema]] = {
    "task_id": TEXT,
    "status": told(
        one_of(DefinitionState),
        "FINISHED when no run is left: a change may bring new ones. CANCELLED is final.",
    ),
    "name": or_null(TEXT),
    "tags": list_of(TEXT),
    "target": _TARGET,
    "payload_ref": _PAYLOAD_REF,
    "cron": TEXT,
    "timezone": TEXT,
    "start_at": or_null(INSTANT),
    "end_at": or_null(INSTANT),
    "max_runs": or_null(COUNT),
    "jitter_seconds": COUNT,
    "overlap": one_of(Overlap),
    "catch_up": one_of(CatchUp),
    "catch_up_window_seconds": COUNT,
    "next_run_at": told(
        or_null(INSTANT), "When the next run is due, jitter included; null when none is planned."
    ),
    "last_run": told(
        or_null(ref("RunSummary")), "The newest run whose time has come, begun or not; a moment behind."
    ),
    "reason": told(or_null(TEXT), "Why it is paused, if somebody said so."),
    "retry": ref("Retry"),
    "timeout_seconds": COUNT,
    "ack": one_of(Ack),
    "expires_after_seconds": or_null(COUNT),
    "flow_control": or_null(ref("FlowControl")),
    "created_at": INSTANT,
    "changed_at": INSTANT,
    "version": VERSION,
}

ANSWERS: Final[dict[str, Schema]] = {
    "Task": every(**TASK),
    "TaskWithPayload": every(**TASK, payload=PAYLOAD),
    "CancelledTask": every(success={"const": True}, **TASK),
    "RecurringTask": every(**RECURRING),
    "RecurringTaskWithPayload": every(**RECURRING, payload=PAYLOAD),
    "CancelledRecurringTask": every(success={"const": True}, **RECURRING),
    "FlowControl": every(key=TEXT, rate=or_null(COUNT), period_seconds=COUNT, parallelism=or_null(COUNT)),
    "TaskList": page_of("tasks", "Task", "RecurringTask"),
    "BatchAnswer": results_of("task", "Task", "RecurringTask"),
    "Preview": every(next=list_of(ref("PlannedRun"))),
    "PlannedRun": every(
        at=told(INSTANT, "When it is due."),
        local=told(TEXT, "The same instant on the clocks of its zone."),
        note=told(or_null(TEXT), "Where a change of clocks or jitter moved it."),
    ),
    "TenantLimits": every(
        registered=told(
            every(limit=COUNT, window_seconds=COUNT),
            "How many tasks and payments may be registered in a window. What was not used may be registered at once.",
        ),
        runs_in_flight_per_worker=told(every(limit=COUNT), "Runs that one worker has on their way at once."),
        depth=told(every(limit=COUNT), "The greatest `Postdate-Depth` with which something is registered."),
        runs_in_backfill=told(every(limit=COUNT), "Runs of one backfill."),
    ),
    "Operation": every(
        **{
            "operation_id": TEXT,
            "action": {"const": "backfill"},
            "task_id": TEXT,
            "from": INSTANT,
            "to": INSTANT,
        },
        state=told(
            one_of(OperationState),
            "STOPPED goes on when the dead letter of its step is redriven. DONE and ABORTED are final; ABORTED is what "
            "becomes of it when its task is cancelled.",
        ),
        eligible=told(every(count=COUNT), "How many runs were planned in that time."),
        done=told(COUNT, "For how many of them there is a run now."),
        reason=told(or_null(TEXT), "Why it does not go on, if it is STOPPED or ABORTED."),
        created_at=INSTANT,
        finished_at=or_null(INSTANT),
    ),
    **{
        f"{kind.title}Target": every(
            type={"const": kind.name}, **{member.name: _SHOWN[member.shape] for member in kind.members}
        )
        for kind in KINDS.values()
    },
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
