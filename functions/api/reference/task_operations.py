"""What can be asked about tasks."""

from typing import Final

from functions.api.operation import Operation
from functions.api.tasks.forms import BatchForm, ChangeForm, TaskForm
from functions.api.tasks.plans import BackfillForm, PauseForm, PreviewForm

_TASK: Final = "/api/v1/tasks/{task_id}"
_REFUSED: Final = (
    *("malformed", "validation_failed", "limit_exceeded"),
    *("destination_not_allowed", "payload_too_large"),
)

_CHANGED: Final = ("malformed", "validation_failed", "not_found", "invalid_state")

TASKS: Final = (
    Operation(
        method="post",
        path="/api/v1/tasks",
        name="registerTask",
        summary="Register a task",
        text="Stores a call that is made at its instant; one of `run_at`, `delay_seconds` and `cron` says when. The "
        "answer means that the task is stored and will reach a final state; with a `cron`, that each of its runs "
        "will. With an Idempotency-Key the request may be sent again: the same key and body register nothing new and "
        "are answered as the first time.",
        answer="Task",
        or_answer="RecurringTask",
        status=201,
        body=TaskForm,
        scope="tasks:write",
        parameters=("IdempotencyKey",),
        headers=("Location", "ETag", "Idempotent-Replayed"),
        codes=(*_REFUSED, "idempotency_key_reused", "idempotency_in_progress", "loop_refused"),
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
        codes=("malformed", "validation_failed", "loop_refused"),
    ),
    Operation(
        method="get",
        path="/api/v1/tasks",
        name="listTasks",
        summary="List tasks",
        text="Recurring ones first, then in the order of the minutes that they were registered for. The list is a "
        "moment behind: a task that was registered just now may be missing. With a filter a page may be short, or "
        "empty, and still have a `next_cursor`.",
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
        or_answer="RecurringTaskWithPayload",
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
        text="Possible while it is PENDING, or, of one that recurs, unless it is CANCELLED. What is left out, or null, "
        "stays as it is, but `payload: null` is a payload and `flow_control: null` takes it away. `retry` and "
        "`flow_control` are replaced as a whole. A recurring task has other fields: null also takes away its "
        "`start_at`, `end_at`, `max_runs`, `expires_after_seconds` and `name`. A change "
        "plans its next run anew, after now: it never begins one at once. What has begun ends as it was, and counts "
        "for `overlap` and `max_runs`.",
        answer="Task",
        or_answer="RecurringTask",
        body=ChangeForm,
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
        "error. The task stays readable. Of one that recurs, no attempt of any run begins any more: what waits ends as "
        "CANCELLED, at its instant at the latest; an attempt that has begun ends as it would have.",
        answer="CancelledTask",
        or_answer="CancelledRecurringTask",
        scope="tasks:write",
        parameters=("task_id", "IfMatch"),
        headers=("ETag",),
        codes=("validation_failed", "not_found", "invalid_state", "version_conflict"),
    ),
    Operation(
        method="post",
        path="/api/v1/tasks/preview",
        name="previewTask",
        summary="When a cron would run",
        text="The next instants of a cron, or of a recurring task, from `from` or now on. `note` says where a "
        "change of clocks or jitter moved one.",
        answer="Preview",
        body=PreviewForm,
        scope="tasks:read",
        codes=("malformed", "validation_failed", "not_found", "invalid_state"),
    ),
    Operation(
        method="post",
        path=f"{_TASK}/pause",
        name="pauseTask",
        summary="Pause a recurring task",
        text="The run that is due next ends as SKIPPED at once, and none is planned after it. Pausing twice is no "
        "error.",
        answer="RecurringTask",
        body=PauseForm,
        body_needed=False,
        scope="tasks:write",
        parameters=("task_id",),
        headers=("ETag",),
        codes=_CHANGED,
    ),
    Operation(
        method="post",
        path=f"{_TASK}/resume",
        name="resumeTask",
        summary="Resume a recurring task",
        text="The next run is the first one that is planned after now: nothing is made up for. Resuming twice is no "
        "error.",
        answer="RecurringTask",
        scope="tasks:write",
        parameters=("task_id",),
        headers=("ETag",),
        codes=("not_found", "invalid_state"),
    ),
    Operation(
        method="post",
        path=f"{_TASK}/trigger",
        name="triggerTask",
        summary="Run a recurring task now",
        text="One run beside the plan, which stays as it is. It does not wait for another run, counts for no "
        "`max_runs`, and is possible while the task is paused. With an Idempotency-Key the request may be sent again.",
        answer="Run",
        status=201,
        scope="tasks:write",
        parameters=("task_id", "IdempotencyKey"),
        headers=("Location", "ETag", "Idempotent-Replayed"),
        codes=(
            "validation_failed",
            "not_found",
            "invalid_state",
            "idempotency_key_reused",
            "idempotency_in_progress",
            "loop_refused",
        ),
    ),
    Operation(
        method="post",
        path=f"{_TASK}/backfill",
        name="backfillTask",
        summary="Run what was planned in a time gone by",
        text="Each instant that the plan names from `from` to `to` gets one run, now, whether it had one or not: at "
        "most 10,000. The answer comes at once, and the work goes on by itself: `getOperation` tells how far it is. "
        "However often a time is asked for, no run is made twice.",
        answer="Operation",
        status=202,
        body=BackfillForm,
        scope="tasks:write",
        parameters=("task_id", "IdempotencyKey"),
        headers=("Location", "Idempotent-Replayed"),
        codes=(*_CHANGED, "limit_exceeded", "idempotency_key_reused", "loop_refused"),
    ),
    Operation(
        method="post",
        path=f"{_TASK}/retry",
        name="retryTask",
        summary="Try a dead task again",
        text="Sends the call that a redrive of its dead letter would send; it has all its attempts again. The answer "
        "shows the task as it is until that call arrives: DEAD. After its deadline no attempt begins.",
        answer="Task",
        status=202,
        scope="tasks:write",
        parameters=("task_id",),
        headers=("ETag",),
        codes=("not_found", "invalid_state"),
    ),
)
