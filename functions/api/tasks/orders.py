"""Requests to register, as orders. The checks of one request run side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import JsonValue

from functions.api.forms import fingerprint, part_of_batch
from functions.api.registering import too_far
from functions.api.tasks.answers import AnyTask
from functions.api.tasks.checks import timeouts
from functions.api.tasks.checks.destinations import refusals
from functions.api.tasks.checks.payloads import payload_of
from functions.api.tasks.checks.places import PlaceWanted, outrun
from functions.api.tasks.forms import TaskForm, due_at, instant_field
from functions.api.tasks.one_time import answers as one_time
from functions.api.tasks.one_time.register import RegisteredTask, TaskOrder
from functions.api.tasks.recurring import answers as recurring
from functions.api.tasks.recurring.forms import schedule_of
from functions.api.tasks.recurring.register import RecurringOrder, RegisteredDefinition
from functions.api.wiring import wired
from postdate.domain.definition import Overlap
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination, Template
from postdate.stores.tenants import Tenant

Asked = TaskOrder | RecurringOrder
Answer = RegisteredTask | RegisteredDefinition
TaskFormT = TypeVar("TaskFormT", bound=TaskForm)


def register(
    tenant: str, asked: Sequence[tuple[TaskForm, str | None] | PostdateError], *, depth: int = 0
) -> list[Answer | PostdateError]:
    """Returns an answer for each order, in their order; an order that could not be read is answered with its error.
    Raises QuotaExceeded for all of them together."""
    wired().meter.take(tenant, len(asked))
    wired().stored.refuse_above(tenant, len(asked))
    read = [pair for pair in asked if not isinstance(pair, PostdateError)]
    ordered = iter(_orders(read, tenant, depth))
    orders = [each if isinstance(each, PostdateError) else next(ordered) for each in asked]
    once = [order for order in orders if isinstance(order, TaskOrder)]
    recurring = [order for order in orders if isinstance(order, RecurringOrder)]
    registered = iter(wired().registrar.register(tenant, once) if once else ())
    planned = iter(wired().planner.register(tenant, recurring) if recurring else ())
    answers = list[Answer | PostdateError]()
    for order in orders:
        match order:
            case TaskOrder():
                answers.append(next(registered))
            case RecurringOrder():
                answers.append(next(planned))
            case _:
                answers.append(order)
    new = [each.task for each in answers if isinstance(each, RegisteredTask) and not each.replayed]
    wired().stored.add(tenant, [task.planned_at for task in new])
    return answers


def told(answer: Answer) -> AnyTask:
    """The answer about a task that has just been registered, or was registered by an earlier request with its key."""
    if isinstance(answer, RegisteredTask):
        return one_time.of(answer.task)
    return recurring.of(answer.definition, runs=(), now=answer.definition.created_at)


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
    now, owner = wired().clock.now(), _tenant(tenant)
    going = [_destination(form, owner.default_target) for form, _ in asked]
    against = refused([each for each in going if isinstance(each, Destination)], tenant)
    orders = [
        _order(form, key, now, destination, against, owner, depth)
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
    """The orders, with a refusal for each one-time task whose flow key has no place for it."""
    wanted = [
        (index, PlaceWanted(flow=order.template.flow, due_at=order.due_at))
        for index, order in enumerate(orders)
        if isinstance(order, TaskOrder) and order.refusal is None
    ]
    refusals = wired().places.refusals(
        tenant, [each for _, each in wanted], named=forms[0].named if forms else str
    )
    found = list(orders)
    for (index, _), refusal in zip(wanted, refusals, strict=True):
        order = orders[index]
        if isinstance(order, TaskOrder) and refusal is not None:
            found[index] = replace(order, refusal=refusal)
    return found


def _order(
    form: TaskForm,
    key: str | None,
    now: datetime,
    destination: Destination | PostdateError,
    against: Mapping[Destination, PostdateError],
    owner: Tenant,
    depth: int,
) -> Asked | PostdateError:
    if isinstance(destination, PostdateError):
        return destination
    refusal = against.get(destination)
    try:
        payload = payload_of(form, bucket=wired().payloads_bucket, tenant=owner.id)
        template = form.template(wired().vault.sealed(owner.id, destination), payload, depth=depth)
        if form.cron is not None:
            return _recurring(form, key, template, now, refusal)
        return _once(form, key, template, now, refusal, spread_seconds=owner.tenancy.spread_seconds)
    except PostdateError as error:
        return error


def _once(
    form: TaskForm,
    key: str | None,
    template: Template,
    now: datetime,
    refusal: PostdateError | None,
    *,
    spread_seconds: int,
) -> TaskOrder:
    """`spread_seconds` is the tenant's default, for requests that name none."""
    instant = due_at(form, now)
    moment = instant if isinstance(instant, datetime) else now
    field = form.named(instant_field(form))
    refusal = (
        instant
        if isinstance(instant, PostdateError)
        else too_far(moment, now, field=field) or _too_long(form) or refusal
    )
    return TaskOrder(
        due_at=moment,
        spread_seconds=spread_seconds if form.spread_seconds is None else form.spread_seconds,
        refusal=refusal,
        template=template,
        name=form.name,
        tags=tuple(form.tags),
        idempotency_key=key,
        fingerprint=fingerprint(form),
        job_key=key if form.tells_key else None,
    )


def _recurring(
    form: TaskForm, key: str | None, template: Template, now: datetime, refusal: PostdateError | None
) -> RecurringOrder:
    schedule = schedule_of(form)
    refusal = _too_long(form) or refusal
    if refusal is None and form.overlap is Overlap.ALLOW:
        refusal = outrun(schedule, template.flow, now=now, named=form.named)
    return RecurringOrder(
        schedule=schedule,
        template=template,
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
