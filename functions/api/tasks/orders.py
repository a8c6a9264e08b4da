"""Requests to register, as orders: what speaks against each is found out side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import JsonValue

from functions.api.errors import problem
from functions.api.forms import fingerprint, part_of_batch
from functions.api.tasks import recurring_view, timeouts
from functions.api.tasks import view as views
from functions.api.tasks.destinations import refusals
from functions.api.tasks.forms import TaskForm, due_at, expires_after, flow
from functions.api.tasks.payloads import payload_of
from functions.api.tasks.places import Wanted, outrun
from functions.api.tasks.plans import schedule_of
from functions.api.tasks.recurring import Planned, RecurringOrder
from functions.api.tasks.register import Order, Registered
from functions.api.wiring import wired
from postdate.domain.definition import Overlap, Template
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination, Payload
from postdate.stores.tenants import Tenant

Asked = Order | RecurringOrder
Answer = Registered | Planned
TaskFormT = TypeVar("TaskFormT", bound=TaskForm)


def register(
    tenant: str, asked: Sequence[tuple[TaskForm, str | None] | PostdateError], *, depth: int = 0
) -> list[Answer | PostdateError]:
    """One answer for each, at its place: what could not be read is answered as it is. Raises QuotaExceeded for all of
    them together."""
    wired().meter.take(tenant, len(asked))
    read = [pair for pair in asked if not isinstance(pair, PostdateError)]
    ordered = iter(_orders(read, tenant, depth))
    orders = [each if isinstance(each, PostdateError) else next(ordered) for each in asked]
    once = [order for order in orders if isinstance(order, Order)]
    recurring = [order for order in orders if isinstance(order, RecurringOrder)]
    registered = iter(wired().registrar.register(tenant, once) if once else ())
    planned = iter(wired().planner.register(tenant, recurring) if recurring else ())
    answers = list[Answer | PostdateError]()
    for order in orders:
        match order:
            case Order():
                answers.append(next(registered))
            case RecurringOrder():
                answers.append(next(planned))
            case _:
                answers.append(order)
    return answers


def view(answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Registered):
        return views.view(answer.task)
    definition = answer.definition
    return recurring_view.view(definition, runs=(), now=definition.created_at)


def result(index: int, answer: PostdateError | Answer, request_id: str) -> dict[str, Any]:
    if isinstance(answer, PostdateError):
        return {"index": index, "error": problem(answer, request_id)}
    return {"index": index, "task": view(answer)}


def read(form: type[TaskFormT], given: JsonValue) -> TaskFormT | PostdateError:
    try:
        return part_of_batch(form, given)
    except PostdateError as error:
        return error


def refused(destinations: Sequence[Destination], tenant: str) -> Mapping[Destination, PostdateError]:
    if not destinations:
        return {}
    return refusals(destinations, tenant=_tenant(tenant), loopback_allowed=wired().loopback_allowed)


def _orders(
    asked: Sequence[tuple[TaskForm, str | None]], tenant: str, depth: int
) -> list[Asked | PostdateError]:
    now, usual = wired().clock.now(), _tenant(tenant).default_target
    going = [_destination(form, usual) for form, _ in asked]
    against = refused([each for each in going if isinstance(each, Destination)], tenant)
    orders = [
        _order(form, key, now, destination, against, tenant, depth)
        for (form, key), destination in zip(asked, going, strict=True)
    ]
    return _with_places([form for form, _ in asked], orders, tenant)


def _tenant(id: str) -> Tenant:
    return wired().tenants.get(id) or Tenant(id=id)


def _destination(form: TaskForm, usual: Destination | None) -> Destination | PostdateError:
    try:
        return form.destination(usual)
    except PostdateError as error:
        return error


def _with_places(
    forms: Sequence[TaskForm], orders: list[Asked | PostdateError], tenant: str
) -> list[Asked | PostdateError]:
    """The orders, with a refusal for each task whose key has no place for it. A plan is judged by itself."""
    wanted = [
        (place, Wanted(flow=order.flow, due_at=order.due_at))
        for place, order in enumerate(orders)
        if isinstance(order, Order) and order.refusal is None
    ]
    refusals = wired().places.refusals(
        tenant, [each for _, each in wanted], named=forms[0].named if forms else str
    )
    found = list(orders)
    for (place, _), refusal in zip(wanted, refusals, strict=True):
        order = orders[place]
        if isinstance(order, Order) and refusal is not None:
            found[place] = replace(order, refusal=refusal)
    return found


def _order(
    form: TaskForm,
    key: str | None,
    now: datetime,
    destination: Destination | PostdateError,
    against: Mapping[Destination, PostdateError],
    tenant: str,
    depth: int,
) -> Asked | PostdateError:
    if isinstance(destination, PostdateError):
        return destination
    refusal = against.get(destination)
    try:
        payload = payload_of(form, bucket=wired().payloads_bucket, tenant=tenant)
        return (
            _once(form, key, payload, now, destination, refusal, depth)
            if form.cron is None
            else _recurring(form, key, payload, now, destination, refusal, depth)
        )
    except PostdateError as error:
        return error


def _once(
    form: TaskForm,
    key: str | None,
    payload: Payload,
    now: datetime,
    destination: Destination,
    refusal: PostdateError | None,
    depth: int,
) -> Order:
    instant = due_at(form, now)
    refusal = instant if isinstance(instant, PostdateError) else _too_long(form) or refusal
    return Order(
        due_at=instant if isinstance(instant, datetime) else now,
        refusal=refusal,
        destination=destination,
        payload=payload,
        retry=form.retry.policy(),
        timeout_seconds=form.timeout_seconds,
        ack=form.ack,
        expires_after=expires_after(form),
        flow=flow(form.flow_control),
        depth=depth,
        name=form.name,
        tags=tuple(form.tags),
        idempotency_key=key,
        fingerprint=fingerprint(form),
        job_key=key if form.tells_key else None,
    )


def _recurring(
    form: TaskForm,
    key: str | None,
    payload: Payload,
    now: datetime,
    destination: Destination,
    refusal: PostdateError | None,
    depth: int,
) -> RecurringOrder:
    schedule, control = schedule_of(form), flow(form.flow_control)
    refusal = _too_long(form) or refusal
    if refusal is None and form.overlap is Overlap.ALLOW:
        refusal = outrun(schedule, control, now=now, named=form.named)
    return RecurringOrder(
        schedule=schedule,
        template=Template(
            destination=destination,
            payload=payload,
            retry=form.retry.policy(),
            timeout_seconds=form.timeout_seconds,
            ack=form.ack,
            expires_after=expires_after(form),
            flow=control,
            depth=depth,
        ),
        overlap=form.overlap,
        catch_up=form.catch_up,
        catch_up_window=timedelta(seconds=form.catch_up_window_seconds),
        name=form.name,
        tags=tuple(form.tags),
        idempotency_key=key,
        fingerprint=fingerprint(form),
        job_key=key if form.tells_key else None,
        refusal=refusal,
    )


def _too_long(form: TaskForm) -> PostdateError | None:
    return timeouts.refusal(
        form.timeout_seconds,
        form.ack,
        response_seconds_max=wired().response_timeout_seconds_max,
        named=form.named,
    )
