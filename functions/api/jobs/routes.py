"""Routes of /v1/jobs: tasks under the names of the job API."""

from concurrent.futures import ThreadPoolExecutor
from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.jobs import answers
from functions.api.jobs.forms import JobForm
from functions.api.operation import Routes
from functions.api.tasks import orders
from functions.api.tasks import routes as tasks
from functions.api.tasks.examples import PAYLOAD, QUEUE
from functions.api.tasks.listing import TaskQuery, page
from functions.api.tasks.one_time import answers as one_time
from functions.api.tasks.recurring import answers as recurring
from functions.api.tasks.routes import OF_KEYS, READ, REFUSED, WRITE
from functions.api.wiring import wired
from postdate.domain.definition import Definition, is_definition
from postdate.domain.errors import PostdateError
from postdate.domain.task import State, Task

JOBS: Final = Routes("/v1/jobs")
_AT_ONCE: Final = 8


@JOBS.serves(
    "post",
    "",
    name="registerJob",
    summary="Register a job",
    text="A job is a task under other names: all names are in camel case, `target.queueUrl` included. Tasks explain "
    "each field. A job without a `target` goes to the tenant's default target.",
    status=201,
    body=JobForm,
    examples={
        "once": {
            "summary": "A message to a queue, at an instant",
            "value": {
                "runAt": "2026-11-18T10:05:00Z",
                "payload": PAYLOAD,
                "idempotencyKey": "order-4711",
                "target": {"type": "sqs", "queueUrl": QUEUE},
            },
        },
        "default": {
            "summary": "To the tenant's default target, by reference",
            "value": {
                "runAt": "2026-11-18T10:05:00Z",
                "payloadRef": "s3://payloads/demo/order-4711",
                "idempotencyKey": "order-4712",
            },
        },
        "cron": {
            "summary": "Each weekday morning",
            "value": {"cron": "30 8 * * MON-FRI", "timezone": "Europe/Berlin", "retry": {"maxAttempts": 3}},
        },
    },
    scope=WRITE,
    headers=("Location", "ETag", "Idempotent-Replayed"),
    codes=(*REFUSED, *OF_KEYS, "loop_refused"),
)
def register(caller: Caller) -> Response[answers.Job]:
    form, depth = parsed(JobForm, requests.body(_event())), requests.depth(_event())
    (answer,) = orders.register(caller.tenant, [(form, form.idempotency_key)], depth=depth)
    if isinstance(answer, PostdateError):
        raise answer
    task = orders.task_of(answer)
    job = answers.of(task)
    headers: dict[str, str | list[str]] = {
        "Location": f"/v1/jobs/{job['jobId']}",
        "ETag": f'"{task["version"]}"',
    }
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(status_code=201, content_type="application/json", body=job, headers=headers)


@JOBS.serves(
    "get",
    "",
    name="listJobs",
    summary="List jobs",
    text="All tasks are jobs, in the order of the list of tasks. The list is a moment behind.",
    scope=READ,
    parameters=("status", "name", "tag", "from", "before", "order", "limit", "cursor"),
    codes=("validation_failed",),
)
def list_jobs(caller: Caller) -> answers.JobList:
    query = TaskQuery.of(caller.tenant, requests.parameters(_event()), runs=False)
    shown = page(
        query,
        wired().tables.tasks,
        wired().tables.definitions,
        wired().operators.unfinished,
        clock=wired().clock,
    )
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        jobs = list(readers.map(_details, shown.items))
    return {"jobs": jobs, "nextCursor": shown.cursor, "partial": shown.partial}


@JOBS.serves(
    "get",
    "/<job_id>",
    name="getJob",
    summary="Get a job",
    text="The current state of the job, with its payload. Of a recurring job the answer also shows its last run.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, job_id: str) -> Response[answers.JobDetailsWithPayload]:
    found, payload = tasks.found(caller.tenant, job_id)
    job: answers.JobDetailsWithPayload = {**_details(found), "payload": payload}
    # The runs of a recurring job change without its version.
    return requests.item(job, derived=isinstance(found, Definition))


@JOBS.serves(
    "post",
    "/<job_id>/cancel",
    name="cancelJob",
    summary="Cancel a job",
    text="The same as to cancel its task.",
    scope=WRITE,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
)
def cancel(caller: Caller, job_id: str) -> Response[answers.CancelledJob]:
    changer = wired().recurring.changer if is_definition(job_id) else wired().tasks.changer
    cancelled = changer.cancel(caller.tenant, job_id, version=requests.version_wanted(_event()))
    body: answers.CancelledJob = {"status": cancelled.state.value}
    return Response(
        status_code=200,
        content_type="application/json",
        body=body,
        headers={"ETag": f'"{cancelled.version}"'},
    )


def _details(found: Task | Definition) -> answers.JobDetails:
    """Returns a job with its attempts. A recurring job shows the attempts of its last run, and the newest failure."""
    if isinstance(found, Task):
        return answers.details(one_time.of(found), key=found.job_key, last=found)
    runs = wired().recurring.chain.newest(found)
    told = recurring.of(found, runs=runs, now=wired().clock.now())
    last = next((run for run in runs if run.state is not State.PENDING), None)
    return answers.details(told, key=found.job_key, last=last)


def _event() -> BaseProxyEvent:
    return JOBS.router.current_event
