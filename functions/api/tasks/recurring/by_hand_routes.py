"""Routes that start runs beside the plan, and try a dead task again."""

from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.operations.answers import Operation
from functions.api.operations.view import view as operation
from functions.api.runs import answers as runs
from functions.api.tasks.one_time import answers as one_time
from functions.api.tasks.recurring.forms import BackfillForm
from functions.api.tasks.recurring.routes import CHANGED, recurring_task
from functions.api.tasks.routes import OF_KEYS, WRITE
from functions.api.wiring import wired
from postdate.domain.definition import is_definition
from postdate.domain.errors import InvalidState

BY_HAND: Final = Routes("/api/v1/tasks/<task_id>")


@BY_HAND.serves(
    "post",
    "/trigger",
    name="triggerTask",
    summary="Run a recurring task now",
    text="Starts one run beside the plan, which stays unchanged. The run waits for no other run, does not count for "
    "`max_runs`, and is possible while the task is paused. With an Idempotency-Key the request may be repeated.",
    status=201,
    scope=WRITE,
    parameters=("IdempotencyKey",),
    headers=("Location", "ETag", "Idempotent-Replayed"),
    codes=("validation_failed", "not_found", "invalid_state", *OF_KEYS, "loop_refused"),
)
def trigger(caller: Caller, task_id: str) -> Response[runs.Run]:
    key, depth = requests.idempotency_key(_event()), requests.depth(_event())
    wired().guards.meter.take(caller.tenant, 1)
    triggered = wired().recurring.by_hand.trigger(
        recurring_task(caller, task_id, "triggered"), key=key, depth=depth
    )
    headers = {"Location": f"/api/v1/runs/{triggered.run.id}"}
    if triggered.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(runs.of(triggered.run), status=201, headers=headers)


@BY_HAND.serves(
    "post",
    "/backfill",
    name="backfillTask",
    summary="Run the planned instants of a past interval",
    text="Each instant that the plan has from `from` to `to` gets one run now, even if it had a run before: at most "
    "10,000. The answer comes at once and workers create the runs; `getOperation` shows the progress. A repeated "
    "request for the same interval creates no run twice.",
    status=202,
    body=BackfillForm,
    examples={
        "day": {
            "summary": "A day",
            "value": {"from": "2026-11-17T00:00:00Z", "to": "2026-11-17T23:59:59Z"},
        }
    },
    scope=WRITE,
    parameters=("IdempotencyKey",),
    headers=("Location", "Idempotent-Replayed"),
    codes=(*CHANGED, "limit_exceeded", "idempotency_key_reused", "loop_refused"),
)
def backfill(caller: Caller, task_id: str) -> Response[Operation]:
    """Answers at once. Workers carry the backfill out."""
    form = parsed(BackfillForm, requests.body(_event()))
    definition = recurring_task(caller, task_id, "backfilled")
    key, depth = requests.idempotency_key(_event()), requests.depth(_event())
    wired().guards.meter.take(caller.tenant, 1)
    asked = wired().recurring.backfills.ask(definition, first=form.from_, last=form.to, key=key, depth=depth)
    headers: dict[str, str | list[str]] = {"Location": f"/api/v1/operations/{asked.id}"}
    if asked.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(status_code=202, content_type="application/json", body=operation(asked), headers=headers)


@BY_HAND.serves(
    "post",
    "/retry",
    name="retryTask",
    summary="Retry a dead task",
    text="Sends the call that a redrive of the dead letter would send; the task gets all its attempts again. The "
    "answer shows the task before that call arrives, as DEAD. After the deadline of the task no attempt begins.",
    status=202,
    scope=WRITE,
    headers=("ETag",),
    codes=("not_found", "invalid_state"),
)
def retry(caller: Caller, task_id: str) -> Response[one_time.Task]:
    """Answers with the task before its call arrives: it is still DEAD."""
    if is_definition(task_id):
        state = wired().recurring.changer.load(caller.tenant, task_id).state
        raise InvalidState(state, "this task is recurring: retry its dead runs one by one")
    task = wired().tasks.changer.load(caller.tenant, task_id)
    wired().recurring.by_hand.redrive(task)
    return requests.item(one_time.of(task), status=202)


def _event() -> BaseProxyEvent:
    return BY_HAND.router.current_event
