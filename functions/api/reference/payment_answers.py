"""The shape of each answer about payments."""

from typing import Final

from functions.api.reference.shapes import (
    COUNT,
    INSTANT,
    NUMBER,
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
from postdate.domain.money import EXECUTIONS_MAX, HISTORY_LINES_MAX
from postdate.domain.payment import ExecutionStatus, Funding, State

_STATUS: Final = one_of(State)
_TYPES: Final = ("SCHEDULED", "RESCHEDULED", "EXECUTING", "COMPLETED", "FAILED", "CANCELLED")

ANSWERS: Final[dict[str, Schema]] = {
    "Payment": every(
        payment_id=told(
            TEXT, "It holds the minute that the payment was registered for, so ids sort by time."
        ),
        from_account_id=TEXT,
        to_account_id=TEXT,
        amount=NUMBER,
        scheduled_time=told(INSTANT, "The instant asked for."),
        status=told(
            _STATUS,
            "PENDING waits for its instant. EXECUTING is what an attempt could not finish; another one comes, or an "
            "operator decides. COMPLETED, FAILED and CANCELLED are final.",
        ),
        funding=one_of(Funding),
        description=or_null(TEXT),
        metadata={"type": "object", "additionalProperties": TEXT},
        created_at=INSTANT,
        executed_at=told(or_null(INSTANT), "When the money was moved."),
        cancelled_at=or_null(INSTANT),
        error_code=told(or_null(TEXT), "Why it failed, for programs."),
        error_message=told(or_null(TEXT), "Why the last attempt failed, for people."),
        lateness_ms=told(or_null(NUMBER), "From the instant asked for until the money was moved."),
        attempts=COUNT,
        version=VERSION,
    ),
    "PaymentList": page_of("payments", "Payment"),
    "PaymentBatchAnswer": results_of("payment", "Payment"),
    "CancelledPayment": every(
        success={"const": True}, status={"const": "CANCELLED"}, payment_id=TEXT, version=VERSION
    ),
    "PaymentEvents": every(
        events=told(
            list_of(ref("PaymentEvent")),
            f"One a version: the first, and the newest {HISTORY_LINES_MAX - 1} after it.",
        )
    ),
    "PaymentEvent": every(
        type=told({"type": "string", "enum": list(_TYPES)}, "Any change before the instant is RESCHEDULED."),
        at=INSTANT,
        version=COUNT,
        status=_STATUS,
        attempt=COUNT,
        reason=TEXT,
    ),
    "PaymentExecutions": every(
        executions=told(list_of(ref("PaymentExecution")), f"The newest {EXECUTIONS_MAX}, in order.")
    ),
    "PaymentExecution": every(
        execution_id=TEXT,
        payment_id=TEXT,
        status=one_of(ExecutionStatus),
        started_at=INSTANT,
        completed_at=or_null(INSTANT),
        executed_at=told(or_null(INSTANT), "When the money moved; null for an attempt that did not move it."),
        error_message=or_null(TEXT),
        retry_count=told(COUNT, "How many attempts there were before it."),
    ),
    "Executed": every(
        success=told({"type": "boolean"}, "Whether the money was moved."),
        execution_id=told(TEXT, "Of the execution that ended it, whoever asked."),
        status={"type": "string", "enum": [State.COMPLETED.value, State.FAILED.value]},
    )
    | {"description": "With `error_code` if it failed."},
}
