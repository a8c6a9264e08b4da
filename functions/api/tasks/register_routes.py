"""Routes that register tasks: one, or a hundred at once."""

from typing import Final

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent

from functions.api import requests
from functions.api.caller import Caller
from functions.api.forms import parsed
from functions.api.operation import Routes
from functions.api.registering import refuse_large
from functions.api.tasks import answers, examples, orders
from functions.api.tasks.forms import BatchForm, BatchTaskForm, TaskForm
from functions.api.tasks.one_time.answers import Task as TaskAnswer
from functions.api.tasks.recurring.answers import RecurringTask
from functions.api.tasks.routes import OF_KEYS, REFUSED, WRITE
from postdate.domain.errors import PostdateError

REGISTERING: Final = Routes("/api/v1/tasks")


@REGISTERING.serves(
    "post",
    "",
    name="registerTask",
    summary="Register a task",
    text="Stores a call that Postdate makes at its instant. Exactly one of `run_at`, `delay_seconds` and `cron` sets "
    "the instant. The answer means that the task is stored and will reach a final state; with a `cron`, that each of "
    "its runs will. With an Idempotency-Key the request may be repeated: the same key and body register nothing new "
    "and get the first answer again.",
    status=201,
    body=TaskForm,
    examples=examples.REGISTER,
    scope=WRITE,
    parameters=("IdempotencyKey",),
    headers=("Location", "ETag", "Idempotent-Replayed"),
    codes=(*REFUSED, *OF_KEYS, "loop_refused"),
)
def register(caller: Caller) -> Response[TaskAnswer | RecurringTask]:
    form, key = parsed(TaskForm, requests.body(_event())), requests.idempotency_key(_event())
    (answer,) = orders.register(caller.tenant, [(form, key)], depth=requests.depth(_event()))
    if isinstance(answer, PostdateError):
        raise answer
    told = orders.task_of(answer)
    headers = {"Location": f"/api/v1/tasks/{told['task_id']}"}
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return requests.item(told, status=201, headers=headers)


@REGISTERING.serves(
    "post",
    "/batch",
    name="registerTasks",
    summary="Register up to 100 tasks",
    text="Each task is registered or refused by itself; the result at its index says which. Each task may have a key "
    "of its own in `idempotency_key`. The status is 200 even if every task is refused.",
    body=BatchForm,
    examples=examples.BATCH,
    scope=WRITE,
    codes=("malformed", "validation_failed", "loop_refused"),
)
def register_batch(caller: Caller) -> answers.BatchAnswer:
    form = parsed(BatchForm, requests.batch(_event()))
    refuse_large(form.tasks, field="tasks")
    read = [orders.read(BatchTaskForm, given) for given in form.tasks]
    asked = [form if isinstance(form, PostdateError) else (form, form.idempotency_key) for form in read]
    found = orders.register(caller.tenant, asked, depth=requests.depth(_event()))
    told = [each if isinstance(each, PostdateError) else orders.task_of(each) for each in found]
    request_id = requests.request_id(_event())
    return {"results": [answers.result(index, each, request_id) for index, each in enumerate(told)]}


def _event() -> BaseProxyEvent:
    return REGISTERING.router.current_event
