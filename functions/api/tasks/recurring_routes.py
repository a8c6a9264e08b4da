"""Routes of /api/v1/tasks that recurring tasks have, and the second life of a dead one."""

from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.forms import parsed, text_of
from functions.api.operations import view as operations
from functions.api.runs import answers as runs
from functions.api.tasks.plans import BackfillForm, PauseForm, PreviewForm, schedule
from functions.api.tasks.routes import READ, WRITE, view
from functions.api.wiring import wired
from postdate.domain import preview as previews
from postdate.domain.definition import Definition, is_definition
from postdate.domain.errors import InvalidState

router = Router()


@router.post("/api/v1/tasks/preview")
def preview() -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, READ).tenant
    form = parsed(PreviewForm, requests.body(event))
    if form.task_id is None:
        plan = schedule(form.cron or "", "UTC" if form.timezone is None else form.timezone)
    else:
        plan = _recurring(tenant, form.task_id, "previewed").schedule
    found = previews.preview(plan, first=form.from_ or wired().clock.now(), count=form.count)
    return {"next": [{"at": text_of(each.at), "local": each.local, "note": each.note} for each in found]}


@router.post("/api/v1/tasks/<task_id>/pause")
def pause(task_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(PauseForm, requests.body(event) or b"{}")
    _recurring(tenant, task_id, "paused")
    return requests.item(view(wired().definition_changer.pause(tenant, task_id, reason=form.reason)))


@router.post("/api/v1/tasks/<task_id>/resume")
def resume(task_id: str) -> Response[Any]:
    tenant = requests.caller(router.current_event, WRITE).tenant
    _recurring(tenant, task_id, "resumed")
    return requests.item(view(wired().definition_changer.resume(tenant, task_id)))


@router.post("/api/v1/tasks/<task_id>/trigger")
def trigger(task_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    key = requests.idempotency_key(event)
    depth = requests.depth(event)
    wired().meter.take(tenant, 1)
    triggered = wired().by_hand.trigger(_recurring(tenant, task_id, "triggered"), key=key, depth=depth)
    headers = {"Location": f"/api/v1/runs/{triggered.run.id}"}
    if triggered.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(runs.of(triggered.run), status=201, headers=headers)


@router.post("/api/v1/tasks/<task_id>/backfill")
def backfill(task_id: str) -> Response[Any]:
    """Answers at once: the workers carry it out."""
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(BackfillForm, requests.body(event))
    definition = _recurring(tenant, task_id, "backfilled")
    key = requests.idempotency_key(event)
    depth = requests.depth(event)
    wired().meter.take(tenant, 1)
    asked = wired().backfills.ask(definition, first=form.from_, last=form.to, key=key, depth=depth)
    headers: dict[str, str | list[str]] = {"Location": f"/api/v1/operations/{asked.id}"}
    if asked.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(
        status_code=202, content_type="application/json", body=operations.view(asked), headers=headers
    )


@router.post("/api/v1/tasks/<task_id>/retry")
def retry(task_id: str) -> Response[Any]:
    """The answer shows the task as it is: still dead, until its call arrives."""
    tenant = requests.caller(router.current_event, WRITE).tenant
    if is_definition(task_id):
        state = wired().definition_changer.load(tenant, task_id).state
        raise InvalidState(state, "this task is recurring: retry its dead runs one by one")
    task = wired().changer.load(tenant, task_id)
    wired().by_hand.redrive(task)
    return requests.item(view(task), status=202)


def _recurring(tenant: str, task_id: str, done: str) -> Definition:
    if is_definition(task_id):
        return wired().definition_changer.load(tenant, task_id)
    state = wired().changer.load(tenant, task_id).state
    raise InvalidState(state, f"this task runs once: only a recurring task can be {done}")
