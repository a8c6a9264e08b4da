"""Routes of /api/v1/payments."""

from datetime import datetime
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from pydantic import JsonValue

from functions.api import requests
from functions.api.caller import Caller
from functions.api.errors import problem
from functions.api.forms import fingerprint, parsed
from functions.api.payments.forms import (
    ExecutionForm,
    PaymentBatchForm,
    PaymentChangeForm,
    PaymentForm,
    cancelled,
    changes,
    due_at,
    events,
    executions,
    instant_field,
    read,
    read_part,
    view,
)
from functions.api.payments.listing import Query, page
from functions.api.payments.register import Order, Registered
from functions.api.texts import pairs
from functions.api.wiring import wired
from postdate.domain.errors import IdempotencyKeyMissing, PostdateError

router = Router()
READ, WRITE = "payments:read", "payments:write"


@router.post("/api/v1/payments/schedule")
def schedule() -> Response[Any]:
    event = router.current_event
    caller = requests.caller(event, WRITE)
    form = read(PaymentForm, requests.body(event))
    order = _order(form, requests.idempotency_key_needed(event), caller)
    wired().meter.take(caller.tenant, 1)
    (answer,) = wired().payment_registrar.register(caller.tenant, [order])
    if isinstance(answer, PostdateError):
        raise answer
    headers = {"Location": f"/api/v1/payments/{answer.payment.id}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(view(answer.payment), status=201, headers=headers)


@router.post("/api/v1/payments/schedule/batch")
def schedule_batch() -> dict[str, Any]:
    event = router.current_event
    caller = requests.caller(event, WRITE)
    asked = [_asked(given, caller) for given in parsed(PaymentBatchForm, requests.batch(event)).payments]
    wired().meter.take(caller.tenant, len(asked))
    orders = [order for order in asked if isinstance(order, Order)]
    registered = iter(wired().payment_registrar.register(caller.tenant, orders) if orders else ())
    results = [next(registered) if isinstance(order, Order) else order for order in asked]
    request_id = requests.request_id(event)
    return {"results": [_result(index, result, request_id) for index, result in enumerate(results)]}


@router.get("/api/v1/payments")
def list_payments() -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, READ).tenant
    shown = page(Query.of(tenant, requests.parameters(event)), wired().ledger, clock=wired().clock)
    payments = [view(payment) for payment in shown.items]
    return {"payments": payments, "next_cursor": shown.cursor, "partial": shown.partial}


@router.get("/api/v1/payments/<payment_id>")
def get(payment_id: str) -> Response[Any]:
    tenant = requests.caller(router.current_event, READ).tenant
    return requests.item(view(wired().payment_changer.load(tenant, payment_id)))


@router.patch("/api/v1/payments/<payment_id>")
def change(payment_id: str) -> Response[Any]:
    event = router.current_event
    caller = requests.caller(event, WRITE)
    form = read(PaymentChangeForm, requests.body(event))
    instant = due_at(form, wired().clock.now())
    if isinstance(instant, PostdateError):
        raise instant
    payment = wired().payment_changer.edit(
        caller,
        payment_id,
        version=requests.version_wanted(event),
        due_at=instant,
        amount=form.amount,
        instant_field=instant_field(form),
        **changes(form),
    )
    return requests.item(view(payment))


@router.post("/api/v1/payments/<payment_id>/cancel")
@router.delete("/api/v1/payments/<payment_id>/cancel")
def cancel(payment_id: str) -> Response[Any]:
    event = router.current_event
    caller = requests.caller(event, WRITE)
    payment = wired().payment_changer.cancel(caller, payment_id, version=requests.version_wanted(event))
    return requests.item(cancelled(payment))


@router.get("/api/v1/payments/<payment_id>/events")
def list_events(payment_id: str) -> dict[str, Any]:
    tenant = requests.caller(router.current_event, READ).tenant
    return {"events": events(wired().payment_changer.load(tenant, payment_id))}


@router.get("/api/v1/payments/<payment_id>/executions")
def list_executions(payment_id: str) -> dict[str, Any]:
    tenant = requests.caller(router.current_event, READ).tenant
    return {"executions": executions(wired().payment_changer.load(tenant, payment_id))}


@router.post("/api/v1/internal/payments/<payment_id>/execute")
def execute(payment_id: str) -> dict[str, Any]:
    """For another service of ours, not for a tenant: it may execute any payment that is due."""
    event = router.current_event
    executor = wired().payment_executor
    executor.admit(event.headers.get("x-internal-auth") or "")
    form = parsed(ExecutionForm, requests.body(event))
    return executor.execute(payment_id, form.execution_id)


def _asked(given: JsonValue, caller: Caller) -> Order | PostdateError:
    try:
        form = read_part(given)
        if form.idempotency_key is None:
            raise IdempotencyKeyMissing
        return _order(form, form.idempotency_key, caller)
    except PostdateError as error:
        return error


def _order(form: PaymentForm, key: str, caller: Caller) -> Order:
    caller.pays_from(form.from_account_id)
    now = wired().clock.now()
    instant = due_at(form, now)
    return Order(
        payer=form.from_account_id,
        payee=form.to_account_id,
        amount=form.amount,
        funding=form.funding,
        due_at=instant if isinstance(instant, datetime) else now,
        instant_field=instant_field(form),
        refusal=instant if isinstance(instant, PostdateError) else None,
        description=form.description,
        metadata=pairs(form.metadata),
        idempotency_key=key,
        fingerprint=fingerprint(form),
    )


def _result(index: int, answer: PostdateError | Registered, request_id: str) -> dict[str, Any]:
    if isinstance(answer, Registered):
        return {"index": index, "payment": view(answer.payment)}
    return {"index": index, "error": problem(answer, request_id)}
