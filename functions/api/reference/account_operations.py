"""What can be asked about accounts."""

from typing import Final

from functions.api.accounts.forms import (
    AccountBatchForm,
    AccountChangeForm,
    AccountForm,
    AdjustmentForm,
    DepositForm,
)
from functions.api.reference.operation import Operation

_ACCOUNT: Final = "/api/v1/accounts/{account_id}"
_OF_KEYS: Final = ("idempotency_key_missing", "idempotency_key_reused")

ACCOUNTS: Final = (
    Operation(
        method="post",
        path="/api/v1/accounts",
        name="openAccount",
        summary="Open an account",
        text="It begins with nothing. Opening it again with the same limits is no error, unless it was closed.",
        answer="Account",
        status=201,
        body=AccountForm,
        scope="admin",
        headers=("Location", "ETag", "Idempotent-Replayed"),
        codes=("malformed", "validation_failed", "limit_exceeded", "invalid_state"),
    ),
    Operation(
        method="post",
        path="/api/v1/accounts/batch",
        name="openAccounts",
        summary="Open up to 100 accounts",
        text="Each account is opened or refused by itself, and answered at its index. The status is 200 whatever "
        "became of them.",
        answer="AccountBatchAnswer",
        body=AccountBatchForm,
        scope="admin",
        codes=("malformed", "validation_failed"),
    ),
    Operation(
        method="get",
        path="/api/v1/accounts",
        name="listAccounts",
        summary="List accounts",
        text="In the order of their ids. An account that was opened just now may be missing. With a `status` a page "
        "may be short, or empty, and still have a `next_cursor`.",
        answer="AccountList",
        scope="accounts:read",
        parameters=("account_status", "prefix", "limit", "cursor"),
        codes=("validation_failed",),
    ),
    Operation(
        method="get",
        path=_ACCOUNT,
        name="getAccount",
        summary="Get an account",
        text="As it is now.",
        answer="Account",
        scope="accounts:read",
        parameters=("account_id",),
        headers=("ETag",),
        codes=("not_found",),
    ),
    Operation(
        method="patch",
        path=_ACCOUNT,
        name="changeAccount",
        summary="Change the limits of an account",
        text="What is left out, or null, stays as it is. `amount_max` may be above the default, up to what the "
        "environment allows. Payments that are scheduled already keep their amounts and instants.",
        answer="Account",
        body=AccountChangeForm,
        scope="admin",
        parameters=("account_id", "IfMatch"),
        headers=("ETag",),
        codes=(
            *("malformed", "validation_failed", "limit_exceeded"),
            *("not_found", "invalid_state", "version_conflict"),
        ),
    ),
    Operation(
        method="post",
        path=f"{_ACCOUNT}/close",
        name="closeAccount",
        summary="Close an account",
        text="For good, and only when nothing is available and nothing is reserved. A closed account stays readable. "
        "It takes no deposits and no payments: a payment to it that is due later fails, and the money goes back to "
        "its payer. Closing twice is no error.",
        answer="Account",
        scope="admin",
        parameters=("account_id", "IfMatch"),
        headers=("ETag",),
        codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
    ),
    Operation(
        method="post",
        path=f"{_ACCOUNT}/deposits",
        name="deposit",
        summary="Deposit money",
        text="From the world outside. A frozen or closed account takes none.",
        answer="Deposit",
        status=201,
        body=DepositForm,
        scope="admin",
        parameters=("account_id", "IdempotencyKeyNeeded"),
        headers=("Idempotent-Replayed",),
        codes=("malformed", "validation_failed", "not_found", "invalid_state", "account_frozen", *_OF_KEYS),
    ),
    Operation(
        method="post",
        path=f"{_ACCOUNT}/adjustments",
        name="adjust",
        summary="Set a balance right",
        text="Adds `amount` to what is available, or takes it from there, never more than is there. Or, with "
        "`to_journal`, sets what is available and what is reserved to what the account's journal and its open payments "
        "say: for an account that the audit names, and that has not changed for ten minutes. A frozen account can be "
        "adjusted.",
        answer="Adjustment",
        status=201,
        body=AdjustmentForm,
        scope="admin",
        parameters=("account_id", "IdempotencyKeyNeeded"),
        headers=("Idempotent-Replayed",),
        codes=(
            *("malformed", "validation_failed", "not_found", "insufficient_funds"),
            *("invalid_state", *_OF_KEYS),
        ),
    ),
    Operation(
        method="post",
        path=f"{_ACCOUNT}/freeze",
        name="freezeAccount",
        summary="Freeze an account",
        text="Until it is unfrozen, it neither pays nor is paid: payments that are due meanwhile fail. What is held "
        "for a payment that fails or is cancelled comes back all the same.",
        answer="Account",
        scope="admin",
        parameters=("account_id",),
        headers=("ETag",),
        codes=("not_found", "invalid_state"),
    ),
    Operation(
        method="post",
        path=f"{_ACCOUNT}/unfreeze",
        name="unfreezeAccount",
        summary="Unfreeze an account",
        text="It pays and is paid again.",
        answer="Account",
        scope="admin",
        parameters=("account_id",),
        headers=("ETag",),
        codes=("not_found", "invalid_state"),
    ),
    Operation(
        method="get",
        path=f"{_ACCOUNT}/transactions",
        name="listTransactions",
        summary="The journal of an account",
        text="The oldest first. What it received is a moment behind.",
        answer="TransactionList",
        scope="accounts:read",
        parameters=("account_id", "limit", "cursor"),
        codes=("validation_failed", "not_found"),
    ),
    Operation(
        method="get",
        path=f"{_ACCOUNT}/forecast",
        name="forecast",
        summary="What an account will have",
        text="If nothing else is scheduled, changed or deposited. What it is to receive is taken as coming. At most "
        "10,000 payments are counted.",
        answer="Forecast",
        scope="accounts:read",
        parameters=("account_id", "until"),
        codes=("validation_failed", "limit_exceeded", "not_found"),
    ),
)
