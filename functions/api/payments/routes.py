"""Routes of /api/v1/payments."""

from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import listing, requests
from functions.api.caller import Caller
from functions.api.listing import Span
from functions.api.operation import Routes
from functions.api.payments import answers, execution_answers
from functions.api.payments.forms import PaymentChangeForm, due_at, instant_field, read
from functions.api.payments.listing import PaymentQuery, page
from functions.api.payments.terms import changes_of
from functions.api.payments.trail import trail
from functions.api.registering import allowed
from functions.api.wiring import wired
from postdate.domain.errors import PostdateError
from postdate.domain.executions import EXECUTIONS_MAX

PAYMENTS: Final = Routes("/api/v1/payments")
READ, WRITE = "payments:read", "payments:write"
REFUSED: Final = ("malformed", "validation_failed", "limit_exceeded", "account_frozen", "insufficient_funds")
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
    shown = page(query, wired().tables.ledger, wired().operators.unfinished, clock=wired().clock)
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
    return requests.item(answers.of(wired().payments.changer.load(caller.tenant, payment_id)))


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
    codes=(*REFUSED, "not_found", "invalid_state", "version_conflict", "books_disagree"),
)
def change(caller: Caller, payment_id: str) -> Response[answers.Payment]:
    form = read(PaymentChangeForm, requests.body(_event()))
    now = wired().clock.now()
    instant = allowed(due_at(form, now), now, field=instant_field(form))
    version, refused = (
        requests.version_wanted(_event()),
        wired().payments.allowance.changed(caller, form.amount),
    )
    try:
        payment = wired().payments.changer.edit(
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
    payment = wired().payments.changer.cancel(caller, payment_id, version=requests.version_wanted(_event()))
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
    payment = wired().payments.changer.load(caller.tenant, payment_id)
    found = trail(payment, requests.parameters(_event()), wired().tables.events)
    return {"events": [answers.event(event) for event in found.events], "next_cursor": found.cursor}


@PAYMENTS.serves(
    "get",
    "/<payment_id>/executions",
    name="listPaymentExecutions",
    summary="List the attempts to make a payment",
    text="An attempt that failed for a passing reason is IN_PROGRESS until the next attempt ends it. A payment keeps "
    f"its newest {EXECUTIONS_MAX} attempts: without a smaller `limit` all are on one page, and `next_cursor` is null.",
    scope=READ,
    parameters=("limit", "cursor"),
    codes=("not_found", "validation_failed"),
)
def list_executions(caller: Caller, payment_id: str) -> execution_answers.PaymentExecutions:
    payment = wired().payments.changer.load(caller.tenant, payment_id)
    parameters = requests.parameters(_event())
    listing.only_known(parameters)
    span = Span.of(parameters, "executions", caller.tenant, payment.id)
    found = execution_answers.executions(payment)
    ids = [each["execution_id"] for each in found]
    # Attempts are dropped from the oldest on: behind one that is gone come all that are left.
    first = ids.index(span.after) + 1 if span.after in ids else 0
    shown, cursor = span.cut(found[first:], lambda each: each["execution_id"])
    return {"executions": shown, "next_cursor": cursor}


def _event() -> BaseProxyEvent:
    return PAYMENTS.router.current_event
