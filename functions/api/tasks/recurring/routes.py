"""Routes that preview, pause and resume recurring tasks."""

from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.tasks.recurring import answers
from functions.api.tasks.recurring.forms import PauseForm, PreviewForm, schedule
from functions.api.tasks.routes import READ, WRITE
from functions.api.wiring import wired
from postdate.domain import preview as previews
from postdate.domain.definition import Definition, is_definition
from postdate.domain.errors import InvalidState
from postdate.use_cases.planned_chain import preview_of

RECURRING: Final = Routes("/api/v1/tasks")
CHANGED: Final = ("malformed", "validation_failed", "not_found", "invalid_state")


@RECURRING.serves(
    "post",
    "/preview",
    name="previewTask",
    summary="Preview the runs of a cron",
    text="The next instants of a cron, or of a recurring task, from `from` or from now on. `note` tells whether a "
    "change of clocks or the jitter moved the run. The preview of a task has no more runs than `max_runs` still "
    "allows; it is empty for a task that is FINISHED or CANCELLED, and ignores a pause.",
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
    codes=CHANGED,
)
def preview(caller: Caller) -> answers.Preview:
    form = parsed(PreviewForm, requests.body(_event()))
    now = wired().clock.now()
    if form.task_id is None:
        plan = schedule(form.cron or "", "UTC" if form.timezone is None else form.timezone)
        return answers.planned(previews.preview(plan, first=form.from_ or now, count=form.count))
    definition = recurring_task(caller, form.task_id, "previewed")
    runs = wired().recurring.chain.newest(definition)
    return answers.planned(preview_of(definition, runs=runs, first=form.from_, count=form.count, now=now))


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
    codes=CHANGED,
)
def pause(caller: Caller, task_id: str) -> Response[answers.RecurringTask]:
    form = parsed(PauseForm, requests.body(_event()) or b"{}")
    recurring_task(caller, task_id, "paused")
    return _answer(wired().recurring.changer.pause(caller.tenant, task_id, reason=form.reason))


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
    recurring_task(caller, task_id, "resumed")
    return _answer(wired().recurring.changer.resume(caller.tenant, task_id))


def recurring_task(caller: Caller, task_id: str, done: str) -> Definition:
    if is_definition(task_id):
        return wired().recurring.changer.load(caller.tenant, task_id)
    state = wired().tasks.changer.load(caller.tenant, task_id).state
    raise InvalidState(state, f"this task runs once: only a recurring task can be {done}")


def _answer(definition: Definition) -> Response[answers.RecurringTask]:
    newest = wired().recurring.chain.newest_if_readable(definition)
    return requests.item(answers.of(definition, runs=newest, now=wired().clock.now()))


def _event() -> BaseProxyEvent:
    return RECURRING.router.current_event
