"""Routes of /api/v1/tasks."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router
from pydantic import JsonValue

from functions.api import requests
from functions.api.errors import problem
from functions.api.forms import Form, fingerprint, parsed
from functions.api.tasks.destinations import refusals
from functions.api.tasks.forms import (
    BatchForm,
    BatchTaskForm,
    TaskChangeForm,
    TaskForm,
    due_at,
    payload_text,
    view,
)
from functions.api.tasks.listing import Query, page
from functions.api.tasks.register import Order, Registered
from functions.api.wiring import wired
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination, Payload

router = Router()
READ, WRITE = "tasks:read", "tasks:write"


@router.post("/api/v1/tasks")
def register() -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form, key = parsed(TaskForm, requests.body(event)), requests.idempotency_key(event)
    (order,) = _orders([(form, key)], tenant)
    if isinstance(order, PostdateError):
        raise order
    (answer,) = wired().registrar.register(tenant, [order])
    if isinstance(answer, PostdateError):
        raise answer
    headers = {"Location": f"/api/v1/tasks/{answer.task.id}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(view(answer.task), status=201, headers=headers)


@router.post("/api/v1/tasks/batch")
def register_batch() -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    read = [_read(given) for given in parsed(BatchForm, requests.body(event)).tasks]
    ordered = iter(_orders([(form, form.idempotency_key) for form in read if isinstance(form, Form)], tenant))
    asked = [next(ordered) if isinstance(form, Form) else form for form in read]
    orders = [answer for answer in asked if isinstance(answer, Order)]
    registered = iter(wired().registrar.register(tenant, orders) if orders else ())
    results = [next(registered) if isinstance(answer, Order) else answer for answer in asked]
    request_id = requests.request_id(event)
    return {"results": [_result(index, result, request_id) for index, result in enumerate(results)]}


@router.get("/api/v1/tasks")
def list_tasks() -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, READ).tenant
    found, cursor = page(Query.of(tenant, requests.parameters(event)), wired().tasks)
    return {"tasks": [view(task) for task in found], "next_cursor": cursor}


@router.get("/api/v1/tasks/<task_id>")
def get(task_id: str) -> Response[Any]:
    tenant = requests.caller(router.current_event, READ).tenant
    task = wired().changer.load(tenant, task_id)
    text = task.payload.text if task.payload.key is None else wired().payloads.get(task.payload.key)
    return requests.item({**view(task), "payload": None if text is None else json.loads(text)})


@router.patch("/api/v1/tasks/<task_id>")
def change(task_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(TaskChangeForm, requests.body(event))
    task = wired().changer.edit(
        tenant,
        task_id,
        version=requests.version_wanted(event),
        due_at=_instant(form),
        **_changes(form, tenant),
    )
    return requests.item(view(task))


@router.delete("/api/v1/tasks/<task_id>")
def cancel(task_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    task = wired().changer.cancel(tenant, task_id, version=requests.version_wanted(event))
    return requests.item({"success": True, **view(task)})


def _read(given: JsonValue) -> BatchTaskForm | PostdateError:
    try:
        return parsed(BatchTaskForm, json.dumps(given))
    except PostdateError as error:
        return error


def _orders(asked: Sequence[tuple[TaskForm, str | None]], tenant: str) -> list[Order | PostdateError]:
    now = wired().clock.now()
    refused = _refusals([form.target.destination() for form, _ in asked], tenant)
    return [_order(form, key, now, refused) for form, key in asked]


def _order(
    form: TaskForm, key: str | None, now: datetime, refused: Mapping[Destination, PostdateError]
) -> Order | PostdateError:
    destination = form.target.destination()
    try:
        text = payload_text(form.payload)
    except PostdateError as error:
        return error
    instant = due_at(form, now)
    refusal = instant if isinstance(instant, PostdateError) else refused.get(destination)
    return Order(
        due_at=instant if isinstance(instant, datetime) else now,
        refusal=refusal,
        destination=destination,
        payload=text,
        retry=form.retry.policy(),
        timeout_seconds=form.timeout_seconds,
        name=form.name,
        tags=tuple(form.tags),
        idempotency_key=key,
        fingerprint=fingerprint(form),
    )


def _instant(form: TaskChangeForm) -> datetime | None:
    instant = due_at(form, wired().clock.now())
    if isinstance(instant, PostdateError):
        raise instant
    return instant


def _changes(form: TaskChangeForm, tenant: str) -> Mapping[str, Any]:
    changes: dict[str, Any] = {}
    if "payload" in form.model_fields_set:
        changes["payload"] = Payload(text=payload_text(form.payload))
    if form.target is not None:
        changes["destination"] = form.target.destination()
        for refusal in _refusals([changes["destination"]], tenant).values():
            raise refusal
    if form.retry is not None:
        changes["retry"] = form.retry.policy()
    return changes


def _refusals(destinations: Sequence[Destination], tenant: str) -> Mapping[Destination, PostdateError]:
    if not destinations:
        return {}
    known = wired().tenants.get(tenant)
    allowed = known.queue_urls if known else frozenset()
    return refusals(destinations, queues_allowed=allowed, loopback_allowed=wired().loopback_allowed)


def _result(index: int, answer: PostdateError | Registered, request_id: str) -> dict[str, Any]:
    if isinstance(answer, Registered):
        return {"index": index, "task": view(answer.task)}
    return {"index": index, "error": problem(answer, request_id)}
