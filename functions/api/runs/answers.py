"""The answers about runs."""

import re
from datetime import datetime
from typing import Annotated, Final, Literal, TypeAlias

from typing_extensions import TypedDict

from functions.api.answers import Count, Cursor, Instant, Partial, Version, described, words
from functions.api.forms import text_of
from postdate.domain.task import State, Task

_HTTP: Final = re.compile(r"http ([0-9]{3})")
_TELLS_WHY: Final = frozenset({State.SKIPPED, State.MISSED, State.CANCELLED, State.EXPIRED, State.DEAD})


WorkerId: TypeAlias = Annotated[
    str | None, described("The worker of the claim; null for attempts of older releases.")
]
LeaseUntil: TypeAlias = Annotated[
    Instant | None,
    described("The end of the lease of the worker or the receiver. Of an earlier attempt: as of its claim."),
]


class RunSummary(TypedDict):
    run_id: Annotated[str, described("Of a one-time task: the id of the task.")]
    planned_at: Annotated[Instant, described("The planned instant.")]
    started_at: Annotated[Instant | None, described("The claim of the first attempt; null before.")]
    finished_at: Instant | None
    lateness_ms: int | None
    status: Annotated[
        str,
        words(State),
        described("SKIPPED and MISSED runs never began; `reason` tells why. A DEAD run can be retried."),
    ]
    reason: Annotated[
        str | None, described("The reason of a final state without success; null in other states.")
    ]


class Attempt(TypedDict):
    number: Annotated[Count, described("The number of the attempt. A redrive begins again at 1.")]
    worker_id: WorkerId
    lease_until: LeaseUntil
    started_at: Instant
    finished_at: Instant | None
    outcome: Literal["RUNNING", "SUCCEEDED", "FAILED"]
    http_status: Count | None
    error: str | None


class Run(RunSummary):
    task_id: str
    attempts: list[Attempt]
    next_attempt_at: Instant | None
    token: Annotated[Count, described("The number of the newest claim; 0 before the first.")]
    lease_until: Annotated[Instant | None, described("The end of the lease of the newest attempt.")]
    version: Version


class RunList(TypedDict):
    runs: list[Run]
    next_cursor: Cursor
    partial: Partial


def summary(task: Task) -> RunSummary:
    return {
        "run_id": task.id,
        "planned_at": text_of(task.planned_at),
        "started_at": text_of(_started_at(task)),
        "finished_at": text_of(task.finished_at),
        "lateness_ms": task.lateness_ms,
        "status": task.state.value,
        "reason": task.history[-1].why if task.state in _TELLS_WHY else None,
    }


def of(task: Task) -> Run:
    return {
        **summary(task),
        "task_id": task.task_id,
        "attempts": attempts(task),
        "next_attempt_at": text_of(task.due_at) if task.state.waits else None,
        "token": task.token,
        "lease_until": text_of(task.lease_until),
        "version": task.version,
    }


def attempts(task: Task) -> list[Attempt]:
    """The attempts of a history. An attempt begins with a claim and ends with the line that tells its outcome.

    A second RUNNING line with the same number is the acceptance of the receiver; one with another number means that the
    attempt before was given up. A claim that was released is no attempt: the line after it counts one attempt less. The
    newest attempt shows its current lease, an earlier one its first lease."""
    found: list[Attempt] = []
    for line in task.history:
        now_open = found[-1] if found and found[-1]["outcome"] == "RUNNING" else None
        if line.to is State.RUNNING:
            # The receiver accepted the call: the same attempt continues.
            if now_open is not None and now_open["number"] == line.attempt:
                continue
            if now_open is not None:
                found[-1] = _ended(now_open, line.at, "FAILED", line.why)
            found.append(
                {
                    "number": line.attempt,
                    "worker_id": line.worker,
                    "lease_until": text_of(line.lease_until),
                    "started_at": text_of(line.at),
                    "finished_at": None,
                    "outcome": "RUNNING",
                    "http_status": None,
                    "error": None,
                }
            )
        # The claim was released: its attempt does not count.
        elif now_open is not None and line.attempt < now_open["number"]:
            found.pop()
        elif now_open is not None:
            outcome: Literal["SUCCEEDED", "FAILED"] = "SUCCEEDED" if line.to is State.SUCCEEDED else "FAILED"
            found[-1] = _ended(now_open, line.at, outcome, line.why)
    # The history keeps the first lease of a claim; the row has the lease as it was extended.
    if found and task.lease_until is not None:
        found[-1]["lease_until"] = text_of(task.lease_until)
    return found


def _ended(attempt: Attempt, at: datetime, outcome: Literal["SUCCEEDED", "FAILED"], why: str) -> Attempt:
    status = _HTTP.fullmatch(why)
    return {
        "number": attempt["number"],
        "worker_id": attempt["worker_id"],
        "lease_until": attempt["lease_until"],
        "started_at": attempt["started_at"],
        "finished_at": text_of(at),
        "outcome": outcome,
        "http_status": int(status[1]) if status else None,
        "error": None if outcome == "SUCCEEDED" else why,
    }


def _started_at(task: Task) -> datetime | None:
    return next((line.at for line in task.history if line.to is State.RUNNING), None)
