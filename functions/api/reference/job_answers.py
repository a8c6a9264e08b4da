"""The shape of each answer of the job API: that of a task, in camel case, with the fields of both kinds."""

from typing import Final

from pydantic.alias_generators import to_camel

from functions.api.jobs.forms import LEFT_OUT, OTHERWISE_NAMED
from functions.api.reference import task_answers
from functions.api.reference.shapes import (
    COUNT,
    INSTANT,
    TEXT,
    Schema,
    either,
    every,
    list_of,
    or_null,
    ref,
    told,
)
from functions.api.tasks.listing import STATUSES
from postdate.targets.registry import KINDS

_ANY_STATUS: Final[Schema] = {"type": "string", "enum": list(STATUSES)}
_KINDS: Final = (task_answers.TASK, task_answers.RECURRING)


def _in_camel(schema: Schema) -> Schema:
    return every(**{to_camel(name): each for name, each in schema["properties"].items()})


def _fields() -> dict[str, Schema]:
    """A field of one kind only is null for the other."""
    found = dict[str, Schema]()
    for kind in _KINDS:
        for name, schema in kind.items():
            if name not in LEFT_OUT:
                shared = all(name in other for other in _KINDS) or "anyOf" in schema
                found[to_camel(OTHERWISE_NAMED.get(name, name))] = schema if shared else or_null(schema)
    return found


_JOB: Final[dict[str, Schema]] = _fields() | {
    "status": _ANY_STATUS,
    "target": either(*(f"Job{kind.title}Target" for kind in KINDS.values())),
    "retry": ref("JobRetry"),
    "flowControl": or_null(ref("JobFlowControl")),
    "idempotencyKey": told(or_null(TEXT), "Null for what was registered as a task."),
    "attempts": told(COUNT, "Of a recurring job: those of its last run, like the next two."),
    "failureReason": told(or_null(TEXT), "Why the last attempt failed, in our words."),
    "jobAttempts": told(list_of(ref("JobAttempt")), "The oldest first."),
}

ANSWERS: Final[dict[str, Schema]] = {
    "Job": every(jobId=TEXT, status=_ANY_STATUS),
    "JobDetails": every(**_JOB),
    "JobDetailsWithPayload": every(**_JOB, payload=task_answers.PAYLOAD),
    "JobList": every(
        jobs=list_of(ref("JobDetails")),
        nextCursor=told(or_null(TEXT), "Where the next page begins; null on the last one."),
        partial=told(
            {"type": "boolean"},
            "Whether the page ended early, because looking took too long: go on with `nextCursor`.",
        ),
    ),
    "JobAttempt": every(
        attempt=told(COUNT, "Counted anew after a redrive."),
        workerId=told(or_null(TEXT), "Which worker claimed it; null for attempts of older releases."),
        leaseUntil=told(
            or_null(INSTANT),
            "Until when the worker, or the receiver, has it. Of an earlier attempt: as at its claim.",
        ),
        startedAt=INSTANT,
        finishedAt=or_null(INSTANT),
        outcome={"type": "string", "enum": ["RUNNING", "SUCCEEDED", "FAILED"]},
        error=or_null(TEXT),
    ),
    "CancelledJob": every(status=_ANY_STATUS),
    "JobRetry": _in_camel(task_answers.ANSWERS["Retry"]),
    "JobFlowControl": _in_camel(task_answers.ANSWERS["FlowControl"]),
    **{
        f"Job{kind.title}Target": _in_camel(task_answers.ANSWERS[f"{kind.title}Target"])
        for kind in KINDS.values()
    },
}
