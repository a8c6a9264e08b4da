"""The table behind the API's description: what can be asked, by whom, and how each question can fail."""

from dataclasses import dataclass
from typing import Final

from functions.api.forms import Form
from functions.api.reference.examples import TASK_ID
from functions.api.tasks.forms import BatchForm, TaskChangeForm, TaskForm
from postdate.domain import errors


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """`answer` names a schema, `codes` the errors beside those that every operation with a key may answer."""

    method: str
    path: str
    name: str
    summary: str
    text: str
    answer: str | None = None
    status: int = 200
    body: type[Form] | None = None
    scope: str | None = None
    parameters: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()


_TASK: Final = "/api/v1/tasks/{task_id}"
_REFUSED: Final = ("malformed", "validation_failed", "destination_not_allowed", "payload_too_large")

OPERATIONS: Final = (
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
    Operation(
        method="get",
        path="/health",
        name="health",
        summary="Whether the API answers",
        text="Says that the function runs. It asks no other service.",
        answer="Health",
    ),
    Operation(
        method="get",
        path="/openapi.json",
        name="description",
        summary="This description",
        text="OpenAPI 3.1.",
    ),
    Operation(
        method="get",
        path="/docs",
        name="documentation",
        summary="This description as a page",
        text="HTML in one file. `type` of an error leads to its section.",
    ),
)

ALWAYS: Final = ("unauthenticated", "forbidden", "internal", "unavailable")

# One of each kind, what it means and what its receiver can do. The documented problem is what this very error makes.
ERRORS: Final[tuple[tuple[Exception, str, str], ...]] = (
    (errors.Malformed(), "The body is no JSON.", "Send JSON."),
    (
        errors.ValidationFailed([("delay_seconds", "Input should be greater than or equal to 0")]),
        "A field, a parameter or a header is wrong, or not known.",
        "`errors` names each of them.",
    ),
    (
        errors.Unauthenticated(),
        "The key is missing, unknown or expired.",
        "Send `Authorization: Bearer <key>`. Without a good key every path is answered like this, whether it "
        "exists or not.",
    ),
    (
        errors.Forbidden("this needs the scope tasks:write"),
        "The key does not have the scope that this needs.",
        "Use a key that has the scope named in `detail`.",
    ),
    (
        errors.NotFound(f"there is no task {TASK_ID}"),
        "There is no such thing, or it belongs to another tenant.",
        "Check the id and the key.",
    ),
    (
        errors.InvalidState("RUNNING", "a task that is RUNNING cannot be changed"),
        "The task is in a state that does not allow this.",
        "`state` says which. Nothing was changed.",
    ),
    (
        errors.VersionMismatch("the task has version 2"),
        "The task changed since the version in If-Match.",
        "Get it, decide again, and send its new ETag.",
    ),
    (
        errors.IdempotencyKeyReused(),
        "The Idempotency-Key stands for another request.",
        "Use a new key, or send the first body again.",
    ),
    (
        errors.IdempotencyInProgress(),
        "Another request with this Idempotency-Key is still being worked on.",
        "Wait for `Retry-After` seconds and send the same request again.",
    ),
    (
        errors.DestinationNotAllowed("numeric host: only names may be called"),
        "The webhook or the queue may not be called.",
        "A webhook needs https, a public host name and no credentials in the URL. A queue has to be on the "
        "tenant's list, and FIFO queues are not supported.",
    ),
    (
        errors.PayloadTooLarge(),
        "The payload is larger than 256 KB as compact JSON text.",
        "Store it elsewhere and send a reference to it.",
    ),
    (
        errors.Unavailable(),
        "A service that is needed did not answer, or the task was changed by others at the same moment.",
        "Wait for `Retry-After` seconds and send the same request again. Only with an Idempotency-Key is it "
        "certain that this does not register a second task.",
    ),
    (RuntimeError(), "Something went wrong on our side.", "Report the `request_id`."),
)
