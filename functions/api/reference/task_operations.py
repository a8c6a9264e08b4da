"""What can be asked about tasks."""

from typing import Final

from functions.api.reference.operation import Operation
from functions.api.tasks.forms import BatchForm, TaskChangeForm, TaskForm

_TASK: Final = "/api/v1/tasks/{task_id}"
_REFUSED: Final = ("malformed", "validation_failed", "destination_not_allowed", "payload_too_large")

TASKS: Final = (
    Operation(
        method="post",
        path="/api/v1/tasks",
        name="registerTask",
        summary="Register a task",
        text="Stores a call that is made at its instant; one of `run_at` and `delay_seconds` says when. The answer "
        "means that the task is stored and will reach a final state. With an Idempotency-Key the request may be "
        "sent again: the same key and body register nothing new and are answered as the first time.",
        answer="Task",
        status=201,
        body=TaskForm,
        scope="tasks:write",
        parameters=("IdempotencyKey",),
        headers=("Location", "ETag", "Idempotent-Replayed"),
        codes=(*_REFUSED, "idempotency_key_reused", "idempotency_in_progress"),
    ),
    Operation(
        method="post",
        path="/api/v1/tasks/batch",
        name="registerTasks",
        summary="Register up to 100 tasks",
        text="Each task is registered or refused by itself, and answered at its index. Each may bring a key of its "
        "own in `idempotency_key`. The status is 200 whatever became of them.",
        answer="BatchAnswer",
        body=BatchForm,
        scope="tasks:write",
        codes=("malformed", "validation_failed"),
    ),
    Operation(
        method="get",
        path="/api/v1/tasks",
        name="listTasks",
        summary="List tasks",
        text="In the order of the minutes that they were registered for. The list is a moment behind: a task that "
        "was registered just now may be missing. With a filter a page may be short, or empty, and still "
        "have a `next_cursor`.",
        answer="TaskList",
        scope="tasks:read",
        parameters=("status", "name", "tag", "limit", "cursor"),
        codes=("validation_failed",),
    ),
    Operation(
        method="get",
        path=_TASK,
        name="getTask",
        summary="Get a task",
        text="As it is now, with its payload.",
        answer="TaskWithPayload",
        scope="tasks:read",
        parameters=("task_id",),
        headers=("ETag",),
        codes=("not_found",),
    ),
    Operation(
        method="patch",
        path=_TASK,
        name="changeTask",
        summary="Change a task",
        text="Possible while it is PENDING. What is left out, or null, stays as it is; only `payload: null` is a "
        "payload. `retry` is replaced as a whole.",
        answer="Task",
        body=TaskChangeForm,
        scope="tasks:write",
        parameters=("task_id", "IfMatch"),
        headers=("ETag",),
        codes=(*_REFUSED, "not_found", "invalid_state", "version_conflict"),
    ),
    Operation(
        method="delete",
        path=_TASK,
        name="cancelTask",
        summary="Cancel a task",
        text="Possible while it is PENDING or RETRYING; no attempt begins after the answer. Cancelling twice is no "
        "error. The task stays readable.",
        answer="CancelledTask",
        scope="tasks:write",
        parameters=("task_id", "IfMatch"),
        headers=("ETag",),
        codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
    ),
)
