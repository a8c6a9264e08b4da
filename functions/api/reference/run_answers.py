"""The shape of each answer about runs."""

from typing import Final

from functions.api.reference.shapes import (
    INSTANT,
    TEXT,
    Schema,
    every,
    one_of,
    or_null,
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
}
