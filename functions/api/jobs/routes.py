"""Routes of /v1/jobs: the same tasks under other names."""

from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.forms import parsed
from functions.api.jobs.forms import JobForm, details, view
from functions.api.tasks import orders, recurring_view
from functions.api.tasks import routes as tasks
from functions.api.tasks.routes import READ, WRITE
from functions.api.wiring import wired
from postdate.domain.definition import is_definition
from postdate.domain.errors import PostdateError
from postdate.domain.task import State

router = Router()


@router.post("/v1/jobs")
def register() -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(JobForm, requests.body(event))
    (answer,) = orders.register(tenant, [(form, form.idempotency_key)])
    if isinstance(answer, PostdateError):
        raise answer
    told = view(orders.view(answer))
    headers: dict[str, str | list[str]] = {"Location": f"/v1/jobs/{told['jobId']}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(status_code=201, content_type="application/json", body=told, headers=headers)


@router.get("/v1/jobs/<job_id>")
def get(job_id: str) -> dict[str, Any]:
    """Of a recurring job: how often its last run was tried, and why that failed."""
    tenant = requests.caller(router.current_event, READ).tenant
    if not is_definition(job_id):
        task = wired().changer.load(tenant, job_id)
        return details(tasks.view(task), attempts=task.attempts, failure=task.error)
    definition = wired().definition_changer.load(tenant, job_id)
    runs = wired().chain.newest(definition)
    told = recurring_view.view(definition, runs=runs, now=wired().clock.now())
    last = next((run for run in runs if run.state is not State.PENDING), None)
    return details(told, attempts=last.attempts if last else 0, failure=last.error if last else None)


@router.post("/v1/jobs/<job_id>/cancel")
def cancel(job_id: str) -> dict[str, str]:
    tenant = requests.caller(router.current_event, WRITE).tenant
    changer = wired().definition_changer if is_definition(job_id) else wired().changer
    return {"status": changer.cancel(tenant, job_id, version=None).state.value}
