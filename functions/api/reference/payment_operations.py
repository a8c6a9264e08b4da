"""What can be asked about payments."""

from dataclasses import replace
from typing import Final

from functions.api.operation import Operation
from functions.api.payments.forms import (
    ExecutionForm,
    PaymentBatchForm,
    PaymentChangeForm,
    PaymentForm,
)

_PAYMENT: Final = "/api/v1/payments/{payment_id}"
_REFUSED: Final = ("malformed", "validation_failed", "limit_exceeded", "account_frozen", "insufficient_funds")
_OF_KEYS: Final = ("idempotency_key_missing", "idempotency_key_reused", "idempotency_in_progress")

_CANCEL: Final = Operation(
    method="",
    name="",
    path=f"{_PAYMENT}/cancel",
    summary="Cancel a payment",
    text="Possible while it is PENDING; one that is EXECUTING needs the scope `ops` as well. What was held is "
    "available again. Cancelling twice is no error. The payment stays readable. DELETE and POST do the same.",
    answer="CancelledPayment",
    scope="payments:write",
    parameters=("payment_id", "IfMatch"),
    headers=("ETag",),
    codes=("validation_failed", "not_found", "invalid_state", "version_conflict", "books_disagree"),
)

PAYMENTS: Final = (
    Operation(
        method="post",
        path="/api/v1/payments/schedule",
        name="schedulePayment",
        summary="Schedule a payment",
        text="Stores a payment that is made at its instant; one of `scheduled_time` and `delay_seconds` says when. "
        "With `funding: reserve` the amount is held from now on. The Idempotency-Key stands for this payment for ever: "
        "the same key and body schedule nothing new and are answered as the first time, whatever has become of the "
        "payment since.",
        answer="Payment",
        status=201,
        body=PaymentForm,
        scope="payments:write",
        parameters=("IdempotencyKeyNeeded",),
        headers=("Location", "ETag", "Idempotent-Replayed"),
        codes=(*_REFUSED, "not_found", "invalid_state", *_OF_KEYS),
    ),
    Operation(
        method="post",
        path="/api/v1/payments/schedule/batch",
        name="schedulePayments",
        summary="Schedule up to 100 payments",
        text="Each payment is scheduled or refused by itself, and answered at its index. Each brings a key of its own "
        "in `idempotency_key`. The status is 200 whatever became of them.",
        answer="PaymentBatchAnswer",
        body=PaymentBatchForm,
        scope="payments:write",
        codes=("malformed", "validation_failed"),
    ),
    Operation(
        method="get",
        path="/api/v1/payments",
        name="listPayments",
        summary="List payments",
        text="In the order of their scheduled instants, of all accounts or of one. The list is a moment behind: a "
        "payment that was scheduled just now may be missing, and one that is given another instant while you walk "
        "through the pages may come twice or not at all. With a filter a page may be short, or empty, and still have "
        "a `next_cursor`: then `partial` is true. `metadata.<name>=<text>` shows payments with that metadata, and may "
        "be given for up to 20 names.",
        answer="PaymentList",
        scope="payments:read",
        parameters=("account_filter", "payment_status", "from", "before", "order", "limit", "cursor"),
        codes=("validation_failed", "not_found"),
    ),
    Operation(
        method="get",
        path=_PAYMENT,
        name="getPayment",
        summary="Get a payment",
        text="As it is now.",
        answer="Payment",
        scope="payments:read",
        parameters=("payment_id",),
        headers=("ETag",),
        codes=("not_found",),
    ),
    Operation(
        method="patch",
        path=_PAYMENT,
        name="changePayment",
        summary="Change a payment",
        text="Possible while it is PENDING. What is left out, or null, stays as it is; only `description: null` clears "
        "the description, and `metadata: {}` the metadata. What is held follows the amount.",
        answer="Payment",
        body=PaymentChangeForm,
        scope="payments:write",
        parameters=("payment_id", "IfMatch"),
        headers=("ETag",),
        codes=(*_REFUSED, "not_found", "invalid_state", "version_conflict", "books_disagree"),
    ),
    replace(_CANCEL, method="delete", name="cancelPayment"),
    replace(_CANCEL, method="post", name="cancelPaymentByPost"),
    Operation(
        method="get",
        path=f"{_PAYMENT}/events",
        name="listPaymentEvents",
        summary="What happened to a payment",
        text="The audit trail, in order.",
        answer="PaymentEvents",
        scope="payments:read",
        parameters=("payment_id",),
        codes=("not_found",),
    ),
    Operation(
        method="get",
        path=f"{_PAYMENT}/executions",
        name="listPaymentExecutions",
        summary="Attempts to make a payment",
        text="An attempt that did not get through is IN_PROGRESS until the next one ends it.",
        answer="PaymentExecutions",
        scope="payments:read",
        parameters=("payment_id",),
        codes=("not_found",),
    ),
    Operation(
        method="post",
        path="/api/v1/internal/payments/{payment_id}/execute",
        name="executePayment",
        summary="Make a payment that is due",
        text="For other services of the operator: any tenant's payment, under a name for the execution that they "
        "choose. Repeats are harmless and tell how the payment ended. Before it is due nothing happens.",
        answer="Executed",
        body=ExecutionForm,
        scope="internal",
        scheme="internal",
        parameters=("payment_id",),
        codes=("malformed", "validation_failed", "not_found", "invalid_state", "books_disagree"),
    ),
)
