"""Routes of /v1/jobs: the same tasks under other names."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.api_gateway import Router

from functions.api import requests
from functions.api.forms import parsed
from functions.api.jobs.forms import JobForm, details, view
from functions.api.tasks import orders, recurring_view
from functions.api.tasks import routes as tasks
from functions.api.tasks.listing import Query, page
from functions.api.tasks.routes import READ, WRITE
from functions.api.wiring import wired
from postdate.domain.definition import Definition, is_definition
from postdate.domain.errors import PostdateError
from postdate.domain.task import State, Task

router = Router()
_AT_ONCE: Final = 8


@router.post("/v1/jobs")
def register() -> Response[Any]:
    event = router.current_event
    tenant = requests.caller(event, WRITE).tenant
    form = parsed(JobForm, requests.body(event))
    (answer,) = orders.register(tenant, [(form, form.idempotency_key)], depth=requests.depth(event))
    if isinstance(answer, PostdateError):
        raise answer
    told = view(orders.view(answer))
    headers: dict[str, str | list[str]] = {"Location": f"/v1/jobs/{told['jobId']}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(status_code=201, content_type="application/json", body=told, headers=headers)


@router.get("/v1/jobs")
def list_jobs() -> dict[str, Any]:
    event = router.current_event
    query = Query.of(requests.caller(event, READ).tenant, requests.parameters(event))
    shown = page(query, wired().tasks, wired().definitions, clock=wired().clock)
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        jobs = list(readers.map(_details, shown.items))
    return {"jobs": jobs, "nextCursor": shown.cursor, "partial": shown.partial}


@router.get("/v1/jobs/<job_id>")
def get(job_id: str) -> dict[str, Any]:
    found, payload = tasks.found(requests.caller(router.current_event, READ).tenant, job_id)
    return {**_details(found), "payload": payload}


@router.post("/v1/jobs/<job_id>/cancel")
def cancel(job_id: str) -> dict[str, str]:
    tenant = requests.caller(router.current_event, WRITE).tenant
    changer = wired().definition_changer if is_definition(job_id) else wired().changer
    return {"status": changer.cancel(tenant, job_id, version=None).state.value}


def _details(found: Task | Definition) -> dict[str, Any]:
    """Of a recurring job: how often its last run was tried, and why that failed."""
    if isinstance(found, Task):
        return details(tasks.view(found), key=found.job_key, last=found)
    runs = wired().chain.newest(found)
    told = recurring_view.view(found, runs=runs, now=wired().clock.now())
    last = next((run for run in runs if run.state is not State.PENDING), None)
    return details(told, key=found.job_key, last=last)
