"""The answers about accounts."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, Partial, Version, described, words
from functions.api.errors import Problem, problem
from functions.api.forms import text_of
from postdate.domain import account, movement
from postdate.domain.errors import PostdateError


class Limits(TypedDict):
    """The limits of one payment from the account."""

    amount_min: Count
    amount_max: Count
    delay_seconds_min: Count
    delay_seconds_max: Count


class Account(TypedDict):
    account_id: str
    balance: Annotated[Count, described("The sum of available and reserved money.")]
    available: Annotated[Count, described("Money that payments may take.")]
    reserved: Annotated[Count, described("Money held for payments to come.")]
    status: Annotated[
        str,
        words(account.Status),
        described(
            "A frozen account neither pays nor is paid, until it is unfrozen; a closed one never again."
        ),
    ]
    limits: Limits
    version: Version
    created_at: Instant
    updated_at: Instant


class AccountList(TypedDict):
    accounts: list[Account]
    next_cursor: Cursor
    partial: Partial


class AccountResult(TypedDict):
    index: Count
    account: NotRequired[Annotated[Account, described("The account, unless it was refused.")]]
    error: NotRequired[Annotated[Problem, described("The reason for the refusal.")]]


class AccountBatchAnswer(TypedDict):
    results: Annotated[
        list[AccountResult], described("One result for each account, in the order of the request.")
    ]


class Receipt(TypedDict):
    transaction_id: str
    account_id: str
    type: Annotated[str, words(movement.Type)]
    amount: int
    created_at: Instant


class Note(TypedDict):
    reference: Annotated[str | None, described("Set for a deposit only, like the next two fields.")]
    description: str | None
    metadata: dict[str, str]


class Deposit(Receipt, Note):
    pass


class Adjustment(Receipt):
    reason: str


class Transaction(Note):
    transaction_id: str
    payment_id: str | None
    type: Annotated[str, words(movement.Type)]
    status: Annotated[Literal["COMPLETED"], described("The journal has completed movements only.")]
    direction: Literal["IN", "OUT"]
    amount: Annotated[Count, described("Without a sign: `direction` says which way.")]
    counterparty: Annotated[str | None, described("The other account; null for the world outside.")]
    created_at: Annotated[
        Instant, described("The instant of the decision; of a deposit, of its first request.")
    ]
    completed_at: Annotated[Instant, described("The instant of the write. The journal is in this order.")]
    reason: str | None


class TransactionList(TypedDict):
    transactions: list[Transaction]
    next_cursor: Cursor
    follow_cursor: Annotated[
        str | None,
        described(
            "The cursor to follow the journal, now or later, also after the last page; null before the first row."
        ),
    ]


def of(given: account.Account) -> Account:
    limits = given.limits
    return {
        "account_id": given.id,
        "balance": given.balance,
        "available": given.available,
        "reserved": given.reserved,
        "status": given.status.value,
        "limits": {
            "amount_min": limits.amount_min,
            "amount_max": limits.amount_max,
            "delay_seconds_min": int(limits.delay_min.total_seconds()),
            "delay_seconds_max": int(limits.delay_max.total_seconds()),
        },
        "version": given.version,
        "created_at": text_of(given.created_at),
        "updated_at": text_of(given.updated_at),
    }


def result(index: int, answer: account.Account | PostdateError, request_id: str) -> AccountResult:
    """The result of one account of a batch."""
    if isinstance(answer, PostdateError):
        return {"index": index, "error": problem(answer, request_id)}
    return {"index": index, "account": of(answer)}


def deposit(made: movement.Movement, account: str) -> Deposit:
    return {**_receipt(made, account), **_note(made)}


def adjustment(made: movement.Movement, account: str) -> Adjustment:
    return {**_receipt(made, account), "reason": made.reason or ""}


def _receipt(made: movement.Movement, account: str) -> Receipt:
    """The receipt of a deposit or an adjustment. It tells no balance, so a repeated request gets the same answer."""
    return {
        "transaction_id": made.id,
        "account_id": account,
        "type": made.type.value,
        "amount": made.effect_on(account),
        "created_at": text_of(made.at),
    }


def transaction(made: movement.Movement, account: str) -> Transaction:
    """A row of the journal as this account sees it."""
    pays = made.payer == account
    return {
        "transaction_id": made.id,
        "payment_id": made.payment_id,
        "type": made.type.value,
        "status": "COMPLETED",
        "direction": "OUT" if pays else "IN",
        "amount": made.amount,
        "counterparty": made.payee if pays else made.payer,
        "created_at": text_of(made.at),
        "completed_at": text_of(made.written_at),
        "reason": made.reason,
        **_note(made),
    }


def _note(made: movement.Movement) -> Note:
    """The note that the caller attached to a deposit."""
    return {
        "reference": made.reference,
        "description": made.description,
        "metadata": dict(made.metadata),
    }
