"""Routes of /api/v1/tasks."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.errors import problem
from functions.api.listing import Query, page
from functions.api.register import Order, Registered
from functions.api.task_forms import (
    BatchForm,
    BatchTaskForm,
    TaskChangeForm,
    TaskForm,
    due_at,
    fingerprint,
    parsed,
    payload_text,
    view,
)
from functions.api.wiring import wired
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination, Payload
from postdate.targets.guard import check_url
from postdate.targets.headers import check_headers
from postdate.targets.sqs import check_queue

router = Router()
READ, WRITE = "tasks:read", "tasks:write"


@router.post("/api/v1/tasks")
def register() -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(TaskForm, requests.body(event))
    order = _order(form, tenant, wired().clock.now(), requests.idempotency_key(event))
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
    now = wired().clock.now()
    answers: list[PostdateError | Registered | Order] = []
    for given in parsed(BatchForm, requests.body(event)).tasks:
        try:
            form = parsed(BatchTaskForm, json.dumps(given))
            answers.append(_order(form, tenant, now, form.idempotency_key))
        except PostdateError as error:
            answers.append(error)
    orders = [answer for answer in answers if isinstance(answer, Order)]
    registered = iter(wired().registrar.register(tenant, orders) if orders else ())
    results = [next(registered) if isinstance(answer, Order) else answer for answer in answers]
    request_id = event["requestContext"]["requestId"]
    return {"results": [_result(index, result, request_id) for index, result in enumerate(results)]}


@router.get("/api/v1/tasks")
def list_tasks() -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, READ).tenant
    found, cursor = page(Query.of(tenant, event.query_string_parameters or {}), wired().tasks)
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
        due_at=due_at(form, wired().clock.now()),
        **_changes(form, tenant),
    )
    return requests.item(view(task))


@router.delete("/api/v1/tasks/<task_id>")
def cancel(task_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    task = wired().changer.cancel(tenant, task_id, version=requests.version_wanted(event))
    return requests.item({"success": True, **view(task)})


def _order(form: TaskForm, tenant: str, now: datetime, key: str | None) -> Order:
    due = due_at(form, now)
    assert due is not None  # noqa: S101 (the form has one instant)
    text = payload_text(form.payload)
    return Order(
        due_at=due,
        destination=_checked(form.target.destination(), tenant),
        payload=text,
        retry=form.retry.policy(),
        timeout_seconds=form.timeout_seconds,
        name=form.name,
        tags=tuple(form.tags),
        idempotency_key=key,
        fingerprint=fingerprint(form),
    )


def _changes(form: TaskChangeForm, tenant: str) -> Mapping[str, Any]:
    changes: dict[str, Any] = {}
    if "payload" in form.model_fields_set:
        changes["payload"] = Payload(text=payload_text(form.payload))
    if form.target is not None:
        changes["destination"] = _checked(form.target.destination(), tenant)
    if form.retry is not None:
        changes["retry"] = form.retry.policy()
    return changes


def _checked(destination: Destination, tenant: str) -> Destination:
    """Refuses what may not be called now; every attempt asks again."""
    if destination.type == "sqs":
        known = wired().tenants.get(tenant)
        check_queue(destination.address, known.queue_urls if known else ())
    else:
        check_headers(destination.headers)
        check_url(destination.address, loopback_allowed=wired().loopback_allowed)
    return destination


def _result(index: int, answer: PostdateError | Registered, request_id: str) -> dict[str, Any]:
    if isinstance(answer, Registered):
        return {"index": index, "task": view(answer.task)}
    return {"index": index, "error": problem(answer, request_id)}
