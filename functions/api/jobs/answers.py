"""Answers of the job API: a task in camel case, with the fields of both kinds of tasks.

The types are made from the types of the task API, so a field of a task is named in one place.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias, get_args

from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict, get_type_hints

from functions.api.answers import Count, Cursor, Instant, Partial, described, one_of
from functions.api.runs import answers as runs
from functions.api.runs.answers import LeaseUntil, WorkerId
from functions.api.tasks.calls import FlowControl, Payload, Retry
from functions.api.tasks.listing import STATUSES
from functions.api.tasks.one_time.answers import Task as TaskAnswer
from functions.api.tasks.recurring.answers import RecurringTask
from functions.api.tasks.targets import CamelTarget
from postdate.domain.task import Task

# Their owner chose the names inside of these fields.
_NAMED_BY_OTHERS: Final = frozenset({"headers", "payload"})
_RENAMED: Final = {"task_id": "job_id", "next_run_at": "next_run", "error": "failure_reason"}
_LEFT_OUT: Final = frozenset({"history", "last_run"})
_OF_ONE_KIND: Final = (TaskAnswer.__required_keys__ ^ RecurringTask.__required_keys__) - _LEFT_OUT

Status: TypeAlias = Annotated[str, one_of(STATUSES)]


class Job(TypedDict):
    jobId: str
    status: Status


class CancelledJob(TypedDict):
    status: Status


class JobAttempt(TypedDict):
    attempt: Annotated[Count, described("The number of the attempt. A redrive begins again at 1.")]
    workerId: WorkerId
    leaseUntil: LeaseUntil
    startedAt: Instant
    finishedAt: Instant | None
    outcome: Literal["RUNNING", "SUCCEEDED", "FAILED"]
    error: str | None


def _in_camel(of: type, title: str) -> Any:
    return TypedDict(title, {to_camel(name): hint for name, hint in _hints(of).items()})  # type: ignore[operator]


def _hints(of: type) -> dict[str, Any]:
    return get_type_hints(of, include_extras=True)


def _named(field: str) -> str:
    return to_camel(_RENAMED.get(field, field))


def _fields() -> dict[str, Any]:
    """The fields of both kinds of tasks. A field that only one kind has is null for the other."""
    found = dict[str, Any]()
    for name, hint in (_hints(RecurringTask) | _hints(TaskAnswer)).items():
        if name not in _LEFT_OUT:
            found[_named(name)] = hint | None if name in _OF_ONE_KIND and not _may_be_null(hint) else hint
    return found


def _may_be_null(hint: Any) -> bool:
    (inner, *_) = get_args(hint) if hasattr(hint, "__metadata__") else (hint,)
    return type(None) in get_args(inner)


if TYPE_CHECKING:
    JobDetails: TypeAlias = dict[str, Any]
    JobDetailsWithPayload: TypeAlias = dict[str, Any]
else:
    _JOB: Final = _fields() | {
        "status": Status,
        "target": CamelTarget,
        "retry": _in_camel(Retry, "JobRetry"),
        "flowControl": _in_camel(FlowControl, "JobFlowControl") | None,
        "idempotencyKey": Annotated[str | None, described("Null if the job was registered as a task.")],
        "attempts": Annotated[
            Count,
            described("Attempts so far. Of a recurring job: of its last run, like the next two fields."),
        ],
        "failureReason": Annotated[str | None, described("The reason why the newest attempt failed.")],
        "jobAttempts": Annotated[list[JobAttempt], described("The oldest attempt comes first.")],
    }
    JobDetails = TypedDict("JobDetails", _JOB)
    JobDetailsWithPayload = TypedDict("JobDetailsWithPayload", _JOB | {"payload": Payload})


class JobList(TypedDict):
    jobs: list[JobDetails]
    nextCursor: Cursor
    partial: Partial


def of(task: Mapping[str, Any]) -> Job:
    """The job of a task as the task API answers it."""
    return {"jobId": task["task_id"], "status": task["status"]}


def details(task: Mapping[str, Any], *, key: str | None, last: Task | None) -> JobDetails:
    """All fields of a task as the task API answers it, and its Idempotency-Key. `last` is the run that was tried last,
    if there is one."""
    return {
        **dict.fromkeys(map(_named, _OF_ONE_KIND)),
        **_camel({_RENAMED.get(name, name): value for name, value in task.items() if name not in _LEFT_OUT}),
        "idempotencyKey": key,
        "attempts": last.attempts if last else 0,
        "failureReason": last.error if last else None,
        "jobAttempts": _attempts(last) if last else [],
    }


def _attempts(run: Task) -> list[JobAttempt]:
    return [
        {
            "attempt": each["number"],
            "workerId": each["worker_id"],
            "leaseUntil": each["lease_until"],
            "startedAt": each["started_at"],
            "finishedAt": each["finished_at"],
            "outcome": each["outcome"],
            "error": each["error"],
        }
        for each in runs.attempts(run)
    ]


def _camel(told: Mapping[str, Any]) -> dict[str, Any]:
    def renamed(value: Any) -> Any:
        match value:
            case Mapping():
                return _camel(value)
            case list():
                return [renamed(each) for each in value]
            case _:
                return value

    return {
        to_camel(name): value if name in _NAMED_BY_OTHERS else renamed(value) for name, value in told.items()
    }
