"""Types of answers about payments. `python client/describe.py` writes this file from the API's description."""

from typing import Any, Literal, NotRequired, TypedDict, final

from postdate_client.answers.instant import Instant
from postdate_client.answers.shared import Actor, Problem, Subject


@final
class Payment(TypedDict):
    from_account_id: str
    to_account_id: str
    amount: int
    funding: Literal["reserve", "at_execution"]
    description: str | None
    metadata: dict[str, str]
    payment_id: str
    scheduled_time: Instant
    status: Literal["PENDING", "EXECUTING", "COMPLETED", "FAILED", "CANCELLED"]
    created_at: Instant
    executed_at: Instant | None
    cancelled_at: Instant | None
    error_code: str | None
    error_message: str | None
    lateness_ms: int | None
    attempts: int
    version: int


@final
class PaymentResult(TypedDict):
    index: int
    payment: NotRequired[Payment]
    error: NotRequired[Problem]


@final
class CancelledPayment(TypedDict):
    success: Literal[True]
    status: Literal["CANCELLED"]
    payment_id: str
    version: int


@final
class PaymentEvent(TypedDict):
    """An event of the feed, with the names of the audit trail beside it."""

    event_id: str
    type: str
    sequence: int
    occurred_at: Instant
    recorded_at: Instant | None
    actor: Actor
    subject: Subject
    data: dict[str, Any]
    reconstructed: NotRequired[bool]
    event_type: Literal[
        "SCHEDULED", "CHANGED", "RESCHEDULED", "EXECUTING", "PARKED", "COMPLETED", "FAILED", "CANCELLED"
    ]
    event_data: dict[str, Any]
    timestamp: Instant


@final
class PaymentExecution(TypedDict):
    execution_id: str
    payment_id: str
    status: Literal["IN_PROGRESS", "SUCCESS", "FAILED"]
    started_at: Instant
    completed_at: Instant | None
    executed_at: Instant | None
    error_message: str | None
    retry_count: int
