"""Routes of /api/v1/tasks: those that every task has."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.forms import parsed
from functions.api.tasks import forms, orders, recurring_view, timeouts
from functions.api.tasks import view as one_time
from functions.api.tasks.forms import BatchForm, BatchTaskForm, TaskChangeForm, TaskForm, due_at
from functions.api.tasks.listing import Query, page
from functions.api.tasks.payloads import payload_of
from functions.api.tasks.places import outrun
from functions.api.tasks.plans import RecurringChangeForm, changes_of, template_changes_of
from functions.api.wiring import wired
from postdate.domain.definition import Definition, Overlap, is_definition
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination, Task

router = Router()
READ, WRITE = "tasks:read", "tasks:write"
_AT_ONCE: Final = 8


@router.post("/api/v1/tasks")
def register() -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form, key = parsed(TaskForm, requests.body(event)), requests.idempotency_key(event)
    (answer,) = orders.register(tenant, [(form, key)], depth=requests.depth(event))
    if isinstance(answer, PostdateError):
        raise answer
    told = orders.view(answer)
    headers = {"Location": f"/api/v1/tasks/{told['task_id']}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(told, status=201, headers=headers)


@router.post("/api/v1/tasks/batch")
def register_batch() -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    read = [orders.read(BatchTaskForm, given) for given in parsed(BatchForm, requests.batch(event)).tasks]
    asked = [form if isinstance(form, PostdateError) else (form, form.idempotency_key) for form in read]
    request_id = requests.request_id(event)
    answers = orders.register(tenant, asked, depth=requests.depth(event))
    return {"results": [orders.result(index, answer, request_id) for index, answer in enumerate(answers)]}


@router.get("/api/v1/tasks")
def list_tasks() -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, READ).tenant
    query = Query.of(tenant, requests.parameters(event))
    shown = page(query, wired().tasks, wired().definitions, clock=wired().clock)
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        tasks = list(readers.map(view, shown.items))
    return {"tasks": tasks, "next_cursor": shown.cursor, "partial": shown.partial}


@router.get("/api/v1/tasks/<task_id>")
def get(task_id: str) -> Response[Any]:
    task, payload = found(requests.caller(router.current_event, READ).tenant, task_id)
    return requests.item({**view(task), "payload": payload})


@router.patch("/api/v1/tasks/<task_id>")
def change(task_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    if is_definition(task_id):
        return _change_plan(tenant, task_id)
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
    tenant, version = requests.caller(event, WRITE).tenant, requests.version_wanted(event)
    changer = wired().definition_changer if is_definition(task_id) else wired().changer
    return requests.item({"success": True, **view(changer.cancel(tenant, task_id, version=version))})


def view(task: Task | Definition) -> dict[str, Any]:
    if isinstance(task, Task):
        return one_time.view(task)
    return recurring_view.view(task, runs=wired().chain.newest(task), now=wired().clock.now())


def found(tenant: str, id: str) -> tuple[Task | Definition, Any]:
    """The task, and its payload if it was given as one."""
    if is_definition(id):
        definition = wired().definition_changer.load(tenant, id)
        return definition, _read(wired().templates.text(definition))
    task = wired().changer.load(tenant, id)
    key = task.payload.key
    return task, _read(task.payload.text if key is None else wired().payloads.get(key))


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _change_plan(tenant: str, task_id: str) -> Response[Any]:
    event = router.current_event
    form = parsed(RecurringChangeForm, requests.body(event))
    template = template_changes_of(form) | _payload(form, tenant)
    _refuse([template["destination"]] if "destination" in template else [], tenant)
    definition = wired().definition_changer.edit(
        tenant,
        task_id,
        version=requests.version_wanted(event),
        changes=lambda kept: _plan_changes(form, kept),
        template=template,
    )
    return requests.item(view(definition))


def _plan_changes(form: RecurringChangeForm, kept: Definition) -> dict[str, Any]:
    """A timeout that was stored under another limit stays as long as neither it nor `ack` is changed."""
    if {"timeout_seconds", "ack"} & form.changed():
        too_long = timeouts.refusal(
            form.timeout_seconds or kept.template.timeout_seconds,
            form.ack or kept.template.ack,
            response_seconds_max=wired().response_timeout_seconds_max,
            named=form.named,
        )
        if too_long is not None:
            raise too_long
    changes = changes_of(form, kept)
    if changes.get("overlap", kept.overlap) is Overlap.ALLOW:
        control = template_changes_of(form).get("flow", kept.template.flow)
        refusal = outrun(changes.get("schedule", kept.schedule), control, now=wired().clock.now())
        if refusal is not None:
            raise refusal
    return changes


def _instant(form: TaskChangeForm) -> datetime | None:
    instant = due_at(form, wired().clock.now())
    if isinstance(instant, PostdateError):
        raise instant
    return instant


def _changes(form: TaskChangeForm, tenant: str) -> Mapping[str, Any]:
    changes = _payload(form, tenant)
    if form.target is not None:
        changes["destination"] = form.target.destination()
        _refuse([changes["destination"]], tenant)
    if form.retry is not None:
        changes["retry"] = form.retry.policy()
    if "flow_control" in form.model_fields_set:
        changes["flow"] = forms.flow(form.flow_control)
    return changes


def _payload(form: TaskChangeForm | RecurringChangeForm, tenant: str) -> dict[str, Any]:
    given = "payload" in form.model_fields_set or form.payload_ref is not None
    return {"payload": payload_of(form, bucket=wired().payloads_bucket, tenant=tenant)} if given else {}


def _refuse(destinations: list[Destination], tenant: str) -> None:
    for refusal in orders.refused(destinations, tenant).values():
        raise refusal
