"""Routes of /api/v1/tasks that only recurring tasks have, and the redrive of a dead task."""

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
from functions.api.tasks.recurring import answers
from functions.api.tasks.recurring.forms import BackfillForm, PauseForm, PreviewForm, schedule
from functions.api.tasks.routes import OF_KEYS, READ, WRITE
from functions.api.wiring import wired
from postdate.domain import preview as previews
from postdate.domain.definition import Definition, is_definition
from postdate.domain.errors import InvalidState

RECURRING: Final = Routes("/api/v1/tasks")
_CHANGED: Final = ("malformed", "validation_failed", "not_found", "invalid_state")


@RECURRING.serves(
    "post",
    "/preview",
    name="previewTask",
    summary="Preview the runs of a cron",
    text="The next instants of a cron, or of a recurring task, from `from` or from now on. `note` tells whether a "
    "change of clocks or the jitter moved the run.",
    body=PreviewForm,
    examples={
        "cron": {
            "summary": "Around a change of clocks",
            "value": {
                "cron": "30 2 * * *",
                "timezone": "Europe/Berlin",
                "from": "2026-10-24T00:00:00Z",
                "count": 3,
            },
        },
        "task": {"summary": "Of a task", "value": {"task_id": "task_0wgzdx0350mjmasc5mq2yc1h"}},
    },
    scope=READ,
    codes=_CHANGED,
)
def preview(caller: Caller) -> answers.Preview:
    form = parsed(PreviewForm, requests.body(_event()))
    if form.task_id is None:
        plan = schedule(form.cron or "", "UTC" if form.timezone is None else form.timezone)
    else:
        plan = _recurring(caller, form.task_id, "previewed").schedule
    first = form.from_ or wired().clock.now()
    return answers.planned(previews.preview(plan, first=first, count=form.count))


@RECURRING.serves(
    "post",
    "/<task_id>/pause",
    name="pauseTask",
    summary="Pause a recurring task",
    text="The next run ends as SKIPPED at once, and no run is planned after it. To pause a task twice is no error.",
    body=PauseForm,
    body_needed=False,
    examples={"why": {"summary": "With a reason", "value": {"reason": "stocktaking"}}},
    scope=WRITE,
    headers=("ETag",),
    codes=_CHANGED,
)
def pause(caller: Caller, task_id: str) -> Response[answers.RecurringTask]:
    form = parsed(PauseForm, requests.body(_event()) or b"{}")
    _recurring(caller, task_id, "paused")
    return _answer(wired().definition_changer.pause(caller.tenant, task_id, reason=form.reason))


@RECURRING.serves(
    "post",
    "/<task_id>/resume",
    name="resumeTask",
    summary="Resume a recurring task",
    text="The next run is the first one planned after now. Runs of the pause are not caught up. To resume a task twice "
    "is no error.",
    scope=WRITE,
    headers=("ETag",),
    codes=("not_found", "invalid_state"),
)
def resume(caller: Caller, task_id: str) -> Response[answers.RecurringTask]:
    _recurring(caller, task_id, "resumed")
    return _answer(wired().definition_changer.resume(caller.tenant, task_id))


@RECURRING.serves(
    "post",
    "/<task_id>/trigger",
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
    wired().meter.take(caller.tenant, 1)
    triggered = wired().by_hand.trigger(_recurring(caller, task_id, "triggered"), key=key, depth=depth)
    headers = {"Location": f"/api/v1/runs/{triggered.run.id}"}
    if triggered.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(runs.of(triggered.run), status=201, headers=headers)


@RECURRING.serves(
    "post",
    "/<task_id>/backfill",
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
    codes=(*_CHANGED, "limit_exceeded", "idempotency_key_reused", "loop_refused"),
)
def backfill(caller: Caller, task_id: str) -> Response[Operation]:
    """Answers at once. Workers carry the backfill out."""
    form = parsed(BackfillForm, requests.body(_event()))
    definition = _recurring(caller, task_id, "backfilled")
    key, depth = requests.idempotency_key(_event()), requests.depth(_event())
    wired().meter.take(caller.tenant, 1)
    asked = wired().backfills.ask(definition, first=form.from_, last=form.to, key=key, depth=depth)
    headers: dict[str, str | list[str]] = {"Location": f"/api/v1/operations/{asked.id}"}
    if asked.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(status_code=202, content_type="application/json", body=operation(asked), headers=headers)


@RECURRING.serves(
    "post",
    "/<task_id>/retry",
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
        state = wired().definition_changer.load(caller.tenant, task_id).state
        raise InvalidState(state, "this task is recurring: retry its dead runs one by one")
    task = wired().changer.load(caller.tenant, task_id)
    wired().by_hand.redrive(task)
    return requests.item(one_time.of(task), status=202)


def _recurring(caller: Caller, task_id: str, done: str) -> Definition:
    if is_definition(task_id):
        return wired().definition_changer.load(caller.tenant, task_id)
    state = wired().changer.load(caller.tenant, task_id).state
    raise InvalidState(state, f"this task runs once: only a recurring task can be {done}")


def _answer(definition: Definition) -> Response[answers.RecurringTask]:
    newest = wired().chain.newest_if_readable(definition)
    return requests.item(answers.of(definition, runs=newest, now=wired().clock.now()))


def _event() -> BaseProxyEvent:
    return RECURRING.router.current_event
