"""The shape of each answer about runs."""

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
    told,
)
from postdate.domain.task import State

_SUMMARY: Final[dict[str, Schema]] = {
    "run_id": told(TEXT, "Of a task that runs once: its own id."),
    "planned_at": told(INSTANT, "The instant it was planned for."),
    "started_at": told(or_null(INSTANT), "When the first attempt was claimed."),
    "finished_at": or_null(INSTANT),
    "lateness_ms": or_null({"type": "integer"}),
    "status": told(
        one_of(State),
        "SKIPPED and MISSED ones were never begun, and `reason` says why. DEAD ones can be tried again.",
    ),
    "reason": told(or_null(TEXT), "Why it did not succeed, once that is certain."),
}

ANSWERS: Final[dict[str, Schema]] = {
    "RunSummary": every(**_SUMMARY),
    "Run": every(
        **_SUMMARY,
        task_id=TEXT,
        attempts=list_of(ref("Attempt")),
        next_attempt_at=or_null(INSTANT),
        token=told(COUNT, "The number of the newest attempt's claim; 0 before the first."),
        lease_until=told(or_null(INSTANT), "Until when the newest attempt may take."),
        version=VERSION,
    ),
    "Attempt": every(
        number=told(COUNT, "Counted anew after a redrive."),
        started_at=INSTANT,
        finished_at=or_null(INSTANT),
        outcome={"type": "string", "enum": ["RUNNING", "SUCCEEDED", "FAILED"]},
        http_status=or_null(COUNT),
        error=or_null(TEXT),
    ),
    "RunList": page_of("runs", "Run"),
}
