"""Types of the answers about accounts. `python client/describe.py` writes this file from the API's description."""

from typing import Literal, TypedDict, final

from postdate_client.answers.instant import Instant


@final
class Limits(TypedDict):
    """The limits of one payment from the account."""

    amount_min: int
    amount_max: int
    delay_seconds_min: int
    delay_seconds_max: int


@final
class Account(TypedDict):
    account_id: str
    balance: int
    available: int
    reserved: int
    status: Literal["ACTIVE", "FROZEN", "CLOSED"]
    limits: Limits
    version: int
    created_at: Instant
    updated_at: Instant


@final
class Transaction(TypedDict):
    reference: str | None
    description: str | None
    metadata: dict[str, str]
    transaction_id: str
    payment_id: str | None
    type: Literal["PAYMENT", "DEPOSIT", "REFUND", "ADJUSTMENT"]
    status: Literal["COMPLETED"]
    direction: Literal["IN", "OUT"]
    amount: int
    counterparty: str | None
    created_at: Instant
    completed_at: Instant
    reason: str | None
