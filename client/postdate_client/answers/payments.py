"""Types of the answers about payments. `python client/describe.py` writes this file from the API's description."""

from typing import Literal, TypedDict, final

from postdate_client.answers.instant import Instant


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
class CancelledPayment(TypedDict):
    success: Literal[True]
    status: Literal["CANCELLED"]
    payment_id: str
    version: int
