"""Routes of /api/v1/payments."""

from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Operation, Routes
from functions.api.payments import answers, orders
from functions.api.payments.forms import (
    ExecutionForm,
    PaymentBatchForm,
    PaymentChangeForm,
    PaymentForm,
    due_at,
    instant_field,
    read,
)
from functions.api.payments.listing import PaymentQuery, page
from functions.api.payments.register import PaymentOrder, RegisteredPayment
from functions.api.payments.terms import changes_of
from functions.api.payments.trail import trail
from functions.api.registering import allowed, refuse_large
from functions.api.wiring import wired
from postdate.domain.errors import PostdateError

PAYMENTS: Final = Routes("/api/v1/payments")
READ, WRITE = "payments:read", "payments:write"
_REFUSED: Final = ("malformed", "validation_failed", "limit_exceeded", "account_frozen", "insufficient_funds")
_OF_KEYS: Final = ("idempotency_key_missing", "idempotency_key_reused", "idempotency_in_progress")
_RENT: Final = {
    "from_account_id": "rent",
    "to_account_id": "landlord",
    "amount": 850,
    "delay_seconds": 3600,
    "description": "November",
}
_CANCEL: Final[dict[str, Any]] = {
    "summary": "Cancel a payment",
    "text": "A PENDING payment can be cancelled; an EXECUTING payment needs the scope `ops` as well. A held amount is "
    "available again. To cancel a payment twice is no error. The payment stays readable. DELETE and POST do the same.",
    "scope": WRITE,
    "parameters": ("IfMatch",),
    "headers": ("ETag",),
    "codes": ("validation_failed", "not_found", "invalid_state", "version_conflict", "books_disagree"),
}


@PAYMENTS.serves(
    "post",
    "/schedule",
    name="schedulePayment",
    summary="Schedule a payment",
    text="Stores a payment that Postdate makes at its instant. Exactly one of `scheduled_time` and `delay_seconds` "
    "sets the instant. With `funding: reserve` the amount is held from now on. The Idempotency-Key belongs to this "
    "payment for ever: the same key and body schedule nothing new and get the first answer again, also after the "
    "payment has changed.",
    status=201,
    body=PaymentForm,
    examples={
        "delay": {"summary": "An hour from now", "value": _RENT},
        "instant": {
            "summary": "At an instant, from what is there then",
            "value": {
                "from_account_id": "rent",
                "to_account_id": "landlord",
                "amount": 850,
                "scheduled_time": "2026-11-18T10:05:00Z",
                "funding": "at_execution",
                "metadata": {"month": "2026-11"},
            },
        },
    },
    scope=WRITE,
    parameters=("IdempotencyKeyNeeded",),
    headers=("Location", "ETag", "Idempotent-Replayed"),
    codes=(*_REFUSED, "not_found", "invalid_state", *_OF_KEYS),
)
def schedule(caller: Caller) -> Response[answers.Payment]:
    form = read(PaymentForm, requests.body(_event()))
    order = orders.order_of(form, requests.idempotency_key_needed(_event()), caller)
    wired().meter.take(caller.tenant, 1)
    (answer,) = orders.register(caller, [order])
    if isinstance(answer, PostdateError):
        raise answer
    headers = {"Location": f"/api/v1/payments/{answer.payment.id}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(answers.of(answer.payment), status=201, headers=headers)


@PAYMENTS.serves(
    "post",
    "/schedule/batch",
    name="schedulePayments",
    summary="Schedule up to 100 payments",
    text="Each payment is scheduled or refused by itself; the result at its index says which. Each payment needs a "
    "key of its own in `idempotency_key`. The status is 200 even if every payment is refused.",
    body=PaymentBatchForm,
    examples={
        "one": {
            "summary": "A payment with its key",
            "value": {"payments": [_RENT | {"idempotency_key": "rent-2026-11"}]},
        }
    },
    scope=WRITE,
    codes=("malformed", "validation_failed"),
)
def schedule_batch(caller: Caller) -> answers.PaymentBatchAnswer:
    form = parsed(PaymentBatchForm, requests.batch(_event()))
    refuse_large(form.payments, field="payments")
    asked = [orders.asked(given, caller) for given in form.payments]
    wired().meter.take(caller.tenant, len(asked))
    wanted = [order for order in asked if isinstance(order, PaymentOrder)]
    registered = iter(orders.register(caller, wanted) if wanted else ())
    found = [next(registered) if isinstance(order, PaymentOrder) else order for order in asked]
    results = [each.payment if isinstance(each, RegisteredPayment) else each for each in found]
    request_id = requests.request_id(_event())
    return {"results": [answers.result(index, each, request_id) for index, each in enumerate(results)]}


@PAYMENTS.serves(
    "get",
    "",
    name="listPayments",
    summary="List payments",
    text="In the order of their scheduled instants, of all accounts or of one. The list is a moment behind: a "
    "payment that was scheduled just now may be missing. A payment whose instant changes between two pages may "
    "appear twice or not at all. With a filter a page may be short, or empty, and still have "
    "a `next_cursor`: then `partial` is true. `metadata.<name>=<text>` shows payments with that metadata, and may "
    "be given for up to 20 names. A list of PENDING payments has every such payment, however late it is.",
    scope=READ,
    parameters=("account_filter", "payment_status", "from", "before", "order", "limit", "cursor"),
    codes=("validation_failed", "not_found"),
)
def list_payments(caller: Caller) -> answers.PaymentList:
    query = PaymentQuery.of(caller.tenant, requests.parameters(_event()))
    shown = page(query, wired().ledger, wired().unfinished, clock=wired().clock)
    payments = [answers.of(payment) for payment in shown.items]
    return {"payments": payments, "next_cursor": shown.cursor, "partial": shown.partial}


@PAYMENTS.serves(
    "get",
    "/<payment_id>",
    name="getPayment",
    summary="Get a payment",
    text="The current state of the payment.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, payment_id: str) -> Response[answers.Payment]:
    return requests.item(answers.of(wired().payment_changer.load(caller.tenant, payment_id)))


@PAYMENTS.serves(
    "patch",
    "/<payment_id>",
    name="changePayment",
    summary="Change a payment",
    text="A payment can be changed while it is PENDING. A field that is left out, or null, stays unchanged, with two "
    "exceptions: `description: null` and `metadata: {}` clear the field. A held amount changes with `amount`.",
    body=PaymentChangeForm,
    examples={
        "later": {"summary": "Another instant", "value": {"scheduled_time": "2026-11-18T18:00:00Z"}},
        "amount": {"summary": "Another amount", "value": {"amount": 900, "description": None}},
        "metadata": {"summary": "Other metadata", "value": {"metadata": {"order": "4712"}}},
    },
    scope=WRITE,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=(*_REFUSED, "not_found", "invalid_state", "version_conflict", "books_disagree"),
)
def change(caller: Caller, payment_id: str) -> Response[answers.Payment]:
    form = read(PaymentChangeForm, requests.body(_event()))
    now = wired().clock.now()
    instant = allowed(due_at(form, now), now, field=instant_field(form))
    version, refused = requests.version_wanted(_event()), wired().allowance.changed(caller, form.amount)
    try:
        payment = wired().payment_changer.edit(
            caller,
            payment_id,
            version=version,
            due_at=instant,
            amount=form.amount,
            instant_field=instant_field(form),
            **changes_of(form),
        )
    except PostdateError as error:
        refused(error)
        raise
    return requests.item(answers.of(payment))


@PAYMENTS.serves("post", "/<payment_id>/cancel", name="cancelPaymentByPost", **_CANCEL)
@PAYMENTS.serves("delete", "/<payment_id>/cancel", name="cancelPayment", **_CANCEL)
def cancel(caller: Caller, payment_id: str) -> Response[answers.CancelledPayment]:
    payment = wired().payment_changer.cancel(caller, payment_id, version=requests.version_wanted(_event()))
    return requests.item(answers.cancelled(payment))


@PAYMENTS.serves(
    "get",
    "/<payment_id>/events",
    name="listPaymentEvents",
    summary="What happened to a payment",
    text="The audit trail, complete and in order: without a limit up to 1,000 events at once.",
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("not_found", "validation_failed"),
)
def list_events(caller: Caller, payment_id: str) -> answers.PaymentEvents:
    payment = wired().payment_changer.load(caller.tenant, payment_id)
    found = trail(payment, requests.parameters(_event()), wired().events)
    return {"events": [answers.event(event) for event in found.events], "next_cursor": found.cursor}


@PAYMENTS.serves(
    "get",
    "/<payment_id>/executions",
    name="listPaymentExecutions",
    summary="List the attempts to make a payment",
    text="An attempt that failed for a passing reason is IN_PROGRESS until the next attempt ends it.",
    scope=READ,
    codes=("not_found",),
)
def list_executions(caller: Caller, payment_id: str) -> answers.PaymentExecutions:
    return {"executions": answers.executions(wired().payment_changer.load(caller.tenant, payment_id))}


@PAYMENTS.router.post("/api/v1/internal/payments/<payment_id>/execute")
def execute(payment_id: str) -> answers.Executed:
    """Executes any payment that is due, for another service of ours and not for a tenant."""
    executor = wired().payment_executor
    executor.admit(_event().headers.get("x-internal-auth") or "")
    requests.check_writable()
    form = parsed(ExecutionForm, requests.body(_event()))
    return executor.execute(payment_id, form.execution_id)


PAYMENTS.operations.append(
    Operation(
        method="post",
        path="/api/v1/internal/payments/{payment_id}/execute",
        name="executePayment",
        summary="Execute a due payment",
        text="For other services of the operator: any tenant's payment, under a name for the execution that they "
        "choose. Repeats are harmless and tell how the payment ended. Before it is due nothing happens.",
        body=ExecutionForm,
        examples={"one": {"summary": "An execution", "value": {"execution_id": "nightly-4711"}}},
        scope="internal",
        scheme="internal",
        parameters=("payment_id",),
        codes=("malformed", "validation_failed", "not_found", "invalid_state", "books_disagree"),
        route=execute,
    )
)


def _event() -> BaseProxyEvent:
    return PAYMENTS.router.current_event
