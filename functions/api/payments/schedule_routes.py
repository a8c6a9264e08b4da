"""Routes that schedule payments: one, or a hundred at once."""

from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.payments import answers, orders
from functions.api.payments.draft import PaymentOrder
from functions.api.payments.forms import PaymentBatchForm, PaymentForm, read
from functions.api.payments.register import RegisteredPayment
from functions.api.payments.routes import REFUSED, WRITE
from functions.api.registering import refuse_large
from functions.api.wiring import wired
from postdate.domain.errors import PostdateError

SCHEDULING: Final = Routes("/api/v1/payments/schedule")
_OF_KEYS: Final = ("idempotency_key_missing", "idempotency_key_reused", "idempotency_in_progress")
_RENT: Final = {
    "from_account_id": "rent",
    "to_account_id": "landlord",
    "amount": 850,
    "delay_seconds": 3600,
    "description": "November",
}


@SCHEDULING.serves(
    "post",
    "",
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
    codes=(*REFUSED, "not_found", "invalid_state", *_OF_KEYS),
)
def schedule(caller: Caller) -> Response[answers.Payment]:
    form = read(PaymentForm, requests.body(_event()))
    order = orders.order_of(form, requests.idempotency_key_needed(_event()), caller)
    wired().guards.meter.take(caller.tenant, 1)
    (answer,) = orders.register(caller, [order])
    if isinstance(answer, PostdateError):
        raise answer
    headers = {"Location": f"/api/v1/payments/{answer.payment.id}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(answers.of(answer.payment), status=201, headers=headers)


@SCHEDULING.serves(
    "post",
    "/batch",
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
    wired().guards.meter.take(caller.tenant, len(asked))
    wanted = [order for order in asked if isinstance(order, PaymentOrder)]
    registered = iter(orders.register(caller, wanted) if wanted else ())
    found = [next(registered) if isinstance(order, PaymentOrder) else order for order in asked]
    results = [each.payment if isinstance(each, RegisteredPayment) else each for each in found]
    request_id = requests.request_id(_event())
    return {"results": [answers.result(index, each, request_id) for index, each in enumerate(results)]}


def _event() -> BaseProxyEvent:
    return SCHEDULING.router.current_event
