"""The shape of each answer about accounts."""

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
from postdate.domain.account import Status
from postdate.domain.movement import Type

_RECEIPT: Final[dict[str, Schema]] = {
    "transaction_id": TEXT,
    "account_id": TEXT,
    "type": one_of(Type),
    "amount": NUMBER,
    "created_at": INSTANT,
}

_NOTE: Final[dict[str, Schema]] = {
    "reference": told(or_null(TEXT), "A deposit's, like the next two."),
    "description": or_null(TEXT),
    "metadata": {"type": "object", "additionalProperties": TEXT},
}

ANSWERS: Final[dict[str, Schema]] = {
    "Account": every(
        account_id=TEXT,
        balance=told(COUNT, "What is available and what is reserved."),
        available=told(COUNT, "What can be paid with."),
        reserved=told(COUNT, "What is held for payments to come."),
        status=told(
            one_of(Status),
            "A frozen account neither pays nor is paid, until it is unfrozen; a closed one never again.",
        ),
        limits=ref("Limits"),
        version=VERSION,
        created_at=INSTANT,
        updated_at=INSTANT,
    ),
    "Limits": told(
        every(amount_min=COUNT, amount_max=COUNT, delay_seconds_min=COUNT, delay_seconds_max=COUNT),
        "What one payment from the account may be.",
    ),
    "AccountList": page_of("accounts", "Account"),
    "AccountBatchAnswer": results_of("account", "Account"),
    "Deposit": every(**_RECEIPT, **_NOTE),
    "Adjustment": every(**_RECEIPT, reason=TEXT),
    "TransactionList": page_of("transactions", "Transaction"),
    "Transaction": every(
        transaction_id=told(TEXT, "Ids sort by the instants that were planned."),
        payment_id=or_null(TEXT),
        type=one_of(Type),
        direction={"type": "string", "enum": ["IN", "OUT"]},
        amount=told(COUNT, "Without a sign: `direction` says which way."),
        counterparty=told(or_null(TEXT), "The other account; null for the world outside."),
        created_at=INSTANT,
        reason=or_null(TEXT),
        **_NOTE,
    ),
    "Forecast": every(
        account_id=TEXT,
        until=INSTANT,
        balance=told(COUNT, "As it is now, like the next two."),
        available=COUNT,
        reserved=COUNT,
        balance_at_until=COUNT,
        available_at_until=COUNT,
        falls_short_at=told(
            or_null(INSTANT),
            "The first instant at which a payment would not be covered. It would fail then and move nothing.",
        ),
        movements=told(list_of(ref("ForecastMovement")), "The first 100, in the order of their instants."),
    ),
    "Audit": every(
        ok={"type": "boolean"},
        checks=list_of(ref("AuditCheck")),
        accounts=told(COUNT, "How many were looked at."),
        moving=told(list_of(TEXT), "Accounts that changed each time they were looked at."),
        unread=told(list_of(TEXT), "Accounts with more than there was time to read."),
        goes_on_after=or_null(TEXT),
    ),
    "AuditCheck": every(name=TEXT, ok={"type": "boolean"}, observed={}, expected={}, checked_at=INSTANT),
    "ForecastMovement": every(
        payment_id=TEXT,
        at=INSTANT,
        amount=told(NUMBER, "Below 0 for what leaves the account."),
        balance=told(COUNT, "After it."),
    ),
}
