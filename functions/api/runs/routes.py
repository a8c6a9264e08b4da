"""Routes of runs: a task's own, one by its id, and the receiver's word about it."""

from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.forms import parsed
from functions.api.runs.forms import CompleteForm, FailForm, HeartbeatForm, view
from functions.api.runs.listing import Query, belongs, page
from functions.api.tasks.routes import READ, WRITE
from functions.api.wiring import wired
from postdate.domain.definition import is_definition
from postdate.domain.errors import ValidationFailed

router = Router()


@router.get("/api/v1/tasks/<task_id>/runs")
def list_runs(task_id: str) -> dict[str, Any]:
    event = router.current_event
    tenant = requests.caller(event, READ).tenant
    _exists(tenant, task_id)
    found, cursor = page(Query.of(tenant, task_id, requests.parameters(event)), wired().tasks)
    return {"runs": [view(run) for run in found], "next_cursor": cursor}


@router.get("/api/v1/tasks/<task_id>/runs/<run_id>")
def get_of_task(task_id: str, run_id: str) -> Response[Any]:
    tenant = requests.caller(router.current_event, READ).tenant
    return requests.item(view(belongs(wired().acknowledger.load(tenant, run_id), task_id)))


@router.get("/api/v1/runs/<run_id>")
def get(run_id: str) -> Response[Any]:
    tenant = requests.caller(router.current_event, READ).tenant
    return requests.item(view(wired().acknowledger.load(tenant, run_id)))


@router.post("/api/v1/runs/<run_id>/retry")
def retry(run_id: str) -> Response[Any]:
    """The answer shows the run as it is: still dead, until its call arrives."""
    tenant = requests.caller(router.current_event, WRITE).tenant
    run = wired().acknowledger.load(tenant, run_id)
    wired().by_hand.redrive(run)
    return requests.item(view(run), status=202)


@router.post("/api/v1/runs/<run_id>/complete")
def complete(run_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(CompleteForm, requests.body(event))
    return requests.item(view(wired().acknowledger.complete(tenant, run_id, token=form.token)))


@router.post("/api/v1/runs/<run_id>/fail")
def fail(run_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(FailForm, requests.body(event))
    run = wired().acknowledger.fail(tenant, run_id, token=form.token, error=form.error, final=form.final)
    return requests.item(view(run))


@router.post("/api/v1/runs/<run_id>/heartbeat")
def heartbeat(run_id: str) -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(HeartbeatForm, requests.body(event))
    acknowledger = wired().acknowledger
    most = acknowledger.load(tenant, run_id).timeout_seconds
    if form.extend_seconds is not None and form.extend_seconds > most:
        raise ValidationFailed([("extend_seconds", f"is at most the timeout, here {most} seconds")])
    run = acknowledger.extend(tenant, run_id, token=form.token, seconds=form.extend_seconds)
    return requests.item(view(run))


def _exists(tenant: str, task_id: str) -> None:
    if is_definition(task_id):
        wired().definition_changer.load(tenant, task_id)
    else:
        wired().changer.load(tenant, task_id)
