"""Routes of runs: the runs of a task, one run by its id, and acknowledgements of receivers."""

from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.runs import answers
from functions.api.runs.forms import CompleteForm, FailForm, HeartbeatForm
from functions.api.runs.listing import RunQuery, belongs, page
from functions.api.runs.of_tenant import TenantRunQuery, page_of_tenant
from functions.api.tasks.routes import READ, WRITE
from functions.api.wiring import wired
from postdate.domain.definition import is_definition
from postdate.domain.errors import ValidationFailed

RUNS: Final = Routes("/api/v1")
_TOLD: Final = ("malformed", "validation_failed", "not_found", "invalid_state")


@RUNS.serves(
    "get",
    "/tasks/<task_id>/runs",
    name="listRuns",
    summary="List the runs of a task",
    text="The newest run comes first; the run to come is included. Skipped and missed runs have a reason. The list is "
    "a moment behind.",
    scope=READ,
    parameters=("run_status", "limit", "cursor"),
    codes=("validation_failed", "not_found"),
)
def list_runs(caller: Caller, task_id: str) -> answers.RunList:
    tenant = caller.tenant
    _exists(tenant, task_id)
    query = RunQuery.of(tenant, task_id, requests.parameters(_event()))
    shown = page(query, wired().tables.tasks, clock=wired().clock)
    runs = [answers.of(run) for run in shown.items]
    return {"runs": runs, "next_cursor": shown.cursor, "partial": shown.partial}


@RUNS.serves(
    "get",
    "/runs",
    name="listAllRuns",
    summary="List the runs of all recurring tasks",
    text="The runs are in the order of their planned instants, the latest first; the runs to come are included. With "
    "`task_id` the list has the runs of this recurring task. Lists of PENDING and of RUNNING runs have every such run, "
    "however late it is. The list is a moment behind. With a filter a page may be short, or empty, and still have a "
    "`next_cursor`.",
    scope=READ,
    parameters=("run_status", "of_task", "from", "before", "run_order", "limit", "cursor"),
    codes=("validation_failed",),
)
def list_all_runs(caller: Caller) -> answers.RunList:
    query = TenantRunQuery.of(caller.tenant, requests.parameters(_event()))
    shown = page_of_tenant(query, wired().tables.tasks, wired().operators.unfinished, clock=wired().clock)
    runs = [answers.of(run) for run in shown.items]
    return {"runs": runs, "next_cursor": shown.cursor, "partial": shown.partial}


@RUNS.serves(
    "get",
    "/tasks/<task_id>/runs/<run_id>",
    name="getRunOfTask",
    summary="Get a run of a task",
    text="The current state of the run.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get_of_task(caller: Caller, task_id: str, run_id: str) -> Response[answers.Run]:
    run = belongs(wired().tasks.acknowledger.load(caller.tenant, run_id), task_id)
    return requests.item(answers.of(run))


@RUNS.serves(
    "get",
    "/runs/<run_id>",
    name="getRun",
    summary="Get a run",
    text="The current state of the run. A one-time task is its own only run.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, run_id: str) -> Response[answers.Run]:
    return requests.item(answers.of(wired().tasks.acknowledger.load(caller.tenant, run_id)))


@RUNS.serves(
    "post",
    "/runs/<run_id>/complete",
    name="completeRun",
    summary="Complete a run",
    text="For `ack: explicit`, with the token of the newest attempt. A repeated request gets the same answer.",
    body=CompleteForm,
    examples={"one": {"summary": "Done", "value": {"token": 1}}},
    scope=WRITE,
    headers=("ETag",),
    codes=_TOLD,
)
def complete(caller: Caller, run_id: str) -> Response[answers.Run]:
    form = parsed(CompleteForm, requests.body(_event()))
    return requests.item(
        answers.of(wired().tasks.acknowledger.complete(caller.tenant, run_id, token=form.token))
    )


@RUNS.serves(
    "post",
    "/runs/<run_id>/fail",
    name="failRun",
    summary="Fail a run",
    text="For `ack: explicit`, with the token of the newest attempt. Another attempt follows by the task's `retry`, "
    "unless the failure is `final`. A repeated request gets the same answer.",
    body=FailForm,
    examples={
        "again": {"summary": "To be tried again", "value": {"token": 1, "error": "the disk is full"}},
        "final": {"summary": "Not to be tried again", "value": {"token": "1", "final": True}},
    },
    scope=WRITE,
    headers=("ETag",),
    codes=_TOLD,
)
def fail(caller: Caller, run_id: str) -> Response[answers.Run]:
    form = parsed(FailForm, requests.body(_event()))
    run = wired().tasks.acknowledger.fail(
        caller.tenant, run_id, token=form.token, error=form.error, final=form.final
    )
    return requests.item(answers.of(run))


@RUNS.serves(
    "post",
    "/runs/<run_id>/heartbeat",
    name="extendRun",
    summary="Extend the lease of a run",
    text="For `ack: explicit`, with the token of the newest attempt. `lease_until` is the new end of the lease; a "
    "heartbeat "
    "never moves it to an earlier instant.",
    body=HeartbeatForm,
    examples={
        "usual": {"summary": "As long as the timeout", "value": {"token": 1}},
        "short": {"summary": "Less long", "value": {"token": 1, "extend_seconds": 60}},
    },
    scope=WRITE,
    headers=("ETag",),
    codes=_TOLD,
)
def heartbeat(caller: Caller, run_id: str) -> Response[answers.Run]:
    form, acknowledger = parsed(HeartbeatForm, requests.body(_event())), wired().tasks.acknowledger
    most = acknowledger.load(caller.tenant, run_id).timeout_seconds
    if form.extend_seconds is not None and form.extend_seconds > most:
        raise ValidationFailed([("extend_seconds", f"is at most the timeout, here {most} seconds")])
    run = acknowledger.extend(caller.tenant, run_id, token=form.token, seconds=form.extend_seconds)
    return requests.item(answers.of(run))


@RUNS.serves(
    "post",
    "/runs/<run_id>/retry",
    name="retryRun",
    summary="Retry a dead run",
    text="Sends the call that a redrive of the dead letter would send; the run gets all its attempts again. The answer "
    "shows the run before that call arrives, as DEAD. After the deadline of the run no attempt begins.",
    status=202,
    scope=WRITE,
    headers=("ETag",),
    codes=("not_found", "invalid_state"),
)
def retry(caller: Caller, run_id: str) -> Response[answers.Run]:
    """Answers with the run before its call arrives: it is still DEAD."""
    run = wired().tasks.acknowledger.load(caller.tenant, run_id)
    wired().recurring.by_hand.redrive(run)
    return requests.item(answers.of(run), status=202)


def _event() -> BaseProxyEvent:
    return RUNS.router.current_event


def _exists(tenant: str, task_id: str) -> None:
    if is_definition(task_id):
        wired().recurring.changer.load(tenant, task_id)
    else:
        wired().tasks.changer.load(tenant, task_id)
