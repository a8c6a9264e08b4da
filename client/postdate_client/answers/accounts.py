"""Types of answers about accounts. `python client/describe.py` writes this file from the API's description."""

from typing import Literal, NotRequired, TypedDict, final

from postdate_client.answers.instant import Instant
from postdate_client.answers.shared import Problem


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
class AccountResult(TypedDict):
    index: int
    account: NotRequired[Account]
    error: NotRequired[Problem]


@final
class Deposit(TypedDict):
    transaction_id: str
    account_id: str
    type: Literal["PAYMENT", "DEPOSIT", "REFUND", "ADJUSTMENT"]
    amount: int
    created_at: Instant
    reference: str | None
    description: str | None
    metadata: dict[str, str]


@final
class Adjustment(TypedDict):
    transaction_id: str
    account_id: str
    type: Literal["PAYMENT", "DEPOSIT", "REFUND", "ADJUSTMENT"]
    amount: int
    created_at: Instant
    reason: str


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


@final
class ForecastMovement(TypedDict):
    payment_id: str
    at: Instant
    amount: int
    balance: int


@final
class Forecast(TypedDict):
    account_id: str
    until: Instant
    balance: int
    available: int
    reserved: int
    balance_at_until: int
    available_at_until: int
    falls_short_at: Instant | None
    movements: list[ForecastMovement]
    next_cursor: str | None
    partial: bool
