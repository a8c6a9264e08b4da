"""Routes of /api/v1/tasks that every task has."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.runs import answers as runs
from functions.api.runs.answers import Run
from functions.api.tasks import answers, changes, examples
from functions.api.tasks.answers import AnyTask
from functions.api.tasks.change_forms import ChangeForm, TaskChangeForm
from functions.api.tasks.listing import TaskQuery, page
from functions.api.tasks.one_time import answers as one_time
from functions.api.tasks.one_time.answers import CancelledTask, TaskWithPayload
from functions.api.tasks.one_time.answers import Task as TaskAnswer
from functions.api.tasks.recurring import answers as recurring
from functions.api.tasks.recurring.answers import (
    CancelledRecurringTask,
    RecurringTask,
    RecurringTaskWithPayload,
)
from functions.api.tasks.recurring.forms import RecurringChangeForm
from functions.api.wiring import wired
from postdate.domain.definition import Definition, is_definition
from postdate.domain.item import kind_of
from postdate.domain.task import RUN_KIND, Task

TASKS: Final = Routes("/api/v1/tasks")
READ, WRITE = "tasks:read", "tasks:write"
REFUSED: Final = (
    *("malformed", "validation_failed", "limit_exceeded"),
    *("destination_not_allowed", "payload_too_large"),
)
OF_KEYS: Final = ("idempotency_key_reused", "idempotency_in_progress")
_AT_ONCE: Final = 8


@TASKS.serves(
    "get",
    "",
    name="listTasks",
    summary="List tasks",
    text="Recurring tasks come first. The others follow in the order of their planned instants. With `from` or `until` "
    "the recurring tasks are left out. Lists of RETRYING, DEAD, CANCELLED, EXPIRED, SKIPPED and MISSED tasks also hold "
    "runs of recurring tasks, in the form of `getRun`. Lists of PENDING and of RUNNING tasks have every such task, "
    "however late it is. The list is a moment behind: a task that was registered just now may be missing. With a "
    "filter a page may be short, or empty, and still have a `next_cursor`.",
    scope=READ,
    parameters=("status", "name", "tag", "from", "before", "order", "limit", "cursor"),
    codes=("validation_failed",),
)
def list_tasks(caller: Caller) -> answers.TaskList:
    query = TaskQuery.of(caller.tenant, requests.parameters(_event()))
    shown = page(
        query,
        wired().tables.tasks,
        wired().tables.definitions,
        wired().operators.unfinished,
        clock=wired().clock,
    )
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        tasks = list(readers.map(_listed, shown.items))
    return {"tasks": tasks, "next_cursor": shown.cursor, "partial": shown.partial}


@TASKS.serves(
    "get",
    "/<task_id>",
    name="getTask",
    summary="Get a task",
    text="The current state of the task, with its payload.",
    scope=READ,
    headers=("ETag",),
    codes=("not_found",),
)
def get(caller: Caller, task_id: str) -> Response[TaskWithPayload | RecurringTaskWithPayload]:
    task, payload = found(caller.tenant, task_id)
    if isinstance(task, Task):
        once: TaskWithPayload = {**one_time.of(task), "payload": payload}
        return requests.item(once)
    again: RecurringTaskWithPayload = {**_recurring(task), "payload": payload}
    # The next run and the last one change without the version of the task.
    return requests.item(again, derived=True)


@TASKS.serves(
    "patch",
    "/<task_id>",
    name="changeTask",
    summary="Change a task",
    text="A one-time task can be changed while it is PENDING, a recurring task unless it is CANCELLED. A field that is "
    "left out, or null, stays unchanged, with two exceptions: `payload: null` is a payload, and `flow_control: null` "
    "removes flow control. `retry` and `flow_control` are replaced as a whole. In a recurring task null also removes "
    "`start_at`, `end_at`, `max_runs`, `expires_after_seconds` and `name`. A change of a recurring task plans the "
    "next run again, at an instant after now; a change to the values that the task has already does nothing. A run "
    "that has begun ends as before the change, and counts for `overlap` and `max_runs`.",
    body=ChangeForm,
    examples=examples.CHANGE,
    scope=WRITE,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=(*REFUSED, "not_found", "invalid_state", "version_conflict"),
)
def change(caller: Caller, task_id: str) -> Response[TaskAnswer | RecurringTask]:
    body = requests.body(_event())
    if is_definition(task_id):
        plan = parsed(RecurringChangeForm, body)
        version = requests.version_wanted(_event())
        return requests.item(_changed(changes.change_plan(caller.tenant, task_id, plan, version=version)))
    form = parsed(TaskChangeForm, body)
    version = requests.version_wanted(_event())
    return requests.item(one_time.of(changes.change(caller.tenant, task_id, form, version=version)))


@TASKS.serves(
    "delete",
    "/<task_id>",
    name="cancelTask",
    summary="Cancel a task",
    text="A one-time task can be cancelled while it is PENDING or RETRYING; no attempt begins after the answer. To "
    "cancel a task twice is no error. The task stays readable. After a recurring task is cancelled, no attempt of any "
    "run begins: waiting runs end as CANCELLED, at their instants at the latest. An attempt that has begun is not "
    "interrupted.",
    scope=WRITE,
    parameters=("IfMatch",),
    headers=("ETag",),
    codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
)
def cancel(caller: Caller, task_id: str) -> Response[CancelledTask | CancelledRecurringTask]:
    version = requests.version_wanted(_event())
    if is_definition(task_id):
        definition = wired().recurring.changer.cancel(caller.tenant, task_id, version=version)
        ended: CancelledRecurringTask = {"success": True, **_changed(definition)}
        return requests.item(ended)
    task = wired().tasks.changer.cancel(caller.tenant, task_id, version=version)
    gone: CancelledTask = {"success": True, **one_time.of(task)}
    return requests.item(gone)


def answer_of(task: Task | Definition) -> AnyTask:
    return one_time.of(task) if isinstance(task, Task) else _recurring(task)


def _listed(task: Task | Definition) -> Run | AnyTask:
    return runs.of(task) if isinstance(task, Task) and kind_of(task.id) == RUN_KIND else answer_of(task)


def found(tenant: str, id: str) -> tuple[Task | Definition, Any]:
    """The task, and its payload unless the payload is a reference."""
    if is_definition(id):
        definition = wired().recurring.changer.load(tenant, id)
        return definition, _read(wired().recurring.templates.text(definition))
    task = wired().tasks.changer.load(tenant, id)
    key = task.payload.key
    return task, _read(task.payload.text if key is None else wired().tables.payloads.get(key))


def _recurring(definition: Definition) -> RecurringTask:
    return recurring.of(definition, runs=wired().recurring.chain.newest(definition), now=wired().clock.now())


def _changed(definition: Definition) -> RecurringTask:
    newest = wired().recurring.chain.newest_if_readable(definition)
    return recurring.of(definition, runs=newest, now=wired().clock.now())


def _read(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _event() -> BaseProxyEvent:
    return TASKS.router.current_event
