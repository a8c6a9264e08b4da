"""Requests to register, as orders. The checks of one request run side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import JsonValue

from functions.api.forms import part_of_batch
from functions.api.tasks.answers import AnyTask
from functions.api.tasks.checks.destinations import refusals
from functions.api.tasks.checks.places import PlaceWanted
from functions.api.tasks.forms import TaskForm
from functions.api.tasks.one_time import answers as one_time
from functions.api.tasks.one_time.order import RegisteredTask, TaskOrder
from functions.api.tasks.reading import Asked, order_of
from functions.api.tasks.recurring import answers as recurring
from functions.api.tasks.recurring.order import RecurringOrder, RegisteredDefinition
from functions.api.wiring import wired
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination
from postdate.stores.tenants import Tenant

Answer = RegisteredTask | RegisteredDefinition
TaskFormT = TypeVar("TaskFormT", bound=TaskForm)


def register(
    tenant: str, asked: Sequence[tuple[TaskForm, str | None] | PostdateError], *, depth: int = 0
) -> list[Answer | PostdateError]:
    """Returns an answer for each order, in their order; an order that could not be read is answered with its error.
    Raises QuotaExceeded for all of them together."""
    wired().guards.meter.take(tenant, len(asked))
    wired().guards.stored.refuse_above(tenant, len(asked))
    read = [pair for pair in asked if not isinstance(pair, PostdateError)]
    ordered = iter(_orders(read, tenant, depth))
    # Each kind is registered together, and the answers are put back into the order of the request.
    orders = [each if isinstance(each, PostdateError) else next(ordered) for each in asked]
    once = [order for order in orders if isinstance(order, TaskOrder)]
    recurring = [order for order in orders if isinstance(order, RecurringOrder)]
    registered = iter(wired().tasks.registrar.register(tenant, once) if once else ())
    planned = iter(wired().recurring.registrar.register(tenant, recurring) if recurring else ())
    answers = list[Answer | PostdateError]()
    for order in orders:
        match order:
            case TaskOrder():
                answers.append(next(registered))
            case RecurringOrder():
                answers.append(next(planned))
            case _:
                answers.append(order)
    # Counted after the write: a crash in between counts too few, never too many.
    new = [each.task for each in answers if isinstance(each, RegisteredTask) and not each.replayed]
    wired().guards.stored.add(tenant, [task.planned_at for task in new])
    return answers


def task_of(answer: Answer) -> AnyTask:
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
    """Reads the requests as orders. All destinations are checked together, before any order is made."""
    now, owner = wired().clock.now(), _tenant(tenant)
    going = [_destination(form, owner.default_target) for form, _ in asked]
    against = refused([each for each in going if isinstance(each, Destination)], tenant)
    orders = [
        order_of(form, key, now, destination, against, owner, depth)
        for (form, key), destination in zip(asked, going, strict=True)
    ]
    return _with_places([form for form, _ in asked], orders, tenant)


def _tenant(id: str) -> Tenant:
    return wired().guards.tenants.get(id) or Tenant(id=id)


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
    refusals = wired().guards.places.refusals(
        tenant, [each for _, each in wanted], named=forms[0].named if forms else str
    )
    found = list(orders)
    for (index, _), refusal in zip(wanted, refusals, strict=True):
        order = orders[index]
        if isinstance(order, TaskOrder) and refusal is not None:
            found[index] = replace(order, refusal=refusal)
    return found
