"""Answers about tasks that run once, and the parts that answers about recurring tasks share with them."""

from typing import Annotated, Literal

from typing_extensions import TypedDict

from functions.api.answers import Count, Instant, Version, described, words
from functions.api.forms import text_of
from functions.api.tasks.calls import CallAnswer, Payload, call_answer
from postdate.domain import task
from postdate.domain.task import State
from postdate.domain.transitions import HISTORY_LINES_MAX


class LastRun(TypedDict):
    planned_at: Annotated[Instant, described("The instant of the request.")]
    started_at: Annotated[Instant, described("The claim of the newest attempt.")]
    finished_at: Annotated[Instant | None, described("The end of the newest attempt; null while it runs.")]
    lateness_ms: Annotated[
        int, described("The time from the instant of the request to the claim of the first attempt.")
    ]
    token: Annotated[Count, described("The number of the newest claim. The target gets the same number.")]
    status: Literal["RUNNING", "SUCCEEDED", "FAILED"]


class HistoryLine(TypedDict):
    version: Count
    at: Instant
    status: Annotated[str, words(State)]
    attempt: Count
    reason: Annotated[str, described("The reason for the change. Of a claim: the sender of the call.")]


class Task(CallAnswer):
    task_id: Annotated[
        str, described("The id contains the minute that the task was registered for, so ids sort by time.")
    ]
    status: Annotated[
        str,
        words(State),
        described(
            "PENDING and RETRYING wait for an attempt. SUCCEEDED, DEAD, CANCELLED and EXPIRED are final; only a "
            "redrive brings a DEAD task back. SKIPPED and MISSED are states of runs of recurring tasks."
        ),
    ]
    name: str | None
    tags: list[str]
    run_at: Annotated[Instant, described("The instant of the request.")]
    next_run_at: Annotated[
        Instant | None, described("The instant of the next attempt; null if none is planned.")
    ]
    attempts: Annotated[Count, described("Attempts so far. A redrive sets the number to 0.")]
    last_run: LastRun | None
    error: Annotated[str | None, described("The reason why the newest attempt failed.")]
    expires_at: Annotated[
        Instant | None,
        described("No attempt begins after this instant, and none later than 60 days after `run_at`."),
    ]
    created_at: Instant
    version: Version
    history: Annotated[
        list[HistoryLine],
        described(
            f"One line for each version. A history of more than {HISTORY_LINES_MAX} versions keeps the first line, "
            "that of the first attempt, and the newest."
        ),
    ]


class TaskWithPayload(Task):
    payload: Payload


class CancelledTask(Task):
    success: Literal[True]


def of(given: task.Task) -> Task:
    """A task as its owner sees it."""
    return {
        "task_id": given.id,
        "status": given.state.value,
        "name": given.name,
        "tags": list(given.tags),
        "run_at": text_of(given.planned_at),
        "next_run_at": text_of(given.due_at) if given.state.waits else None,
        "attempts": given.attempts,
        "last_run": _last_run(given),
        "error": given.error,
        **call_answer(given),
        "expires_at": text_of(given.expires_at),
        "created_at": text_of(given.created_at),
        "version": given.version,
        "history": [
            {
                "version": line.version,
                "at": text_of(line.at),
                "status": line.to.value,
                "attempt": line.attempt,
                "reason": line.why,
            }
            for line in given.history
        ],
    }


def _last_run(given: task.Task) -> LastRun | None:
    """The newest attempt of the history. The line after its claim says how the attempt ended.

    A claim under which nothing was sent is no attempt: the line after such a claim counts one attempt less.
    """
    lines = given.history
    ends = (*lines[1:], None)
    starts = [
        index
        for index, (line, end) in enumerate(zip(lines, ends, strict=True))
        if line.to is State.RUNNING and not (end and end.attempt < line.attempt)
    ]
    if not starts or given.lateness_ms is None:
        return None
    # Without a line after it, the claim is still under way.
    start, *later = lines[starts[-1] :]
    end = later[0] if later else None
    ended_well = end is not None and end.to is State.SUCCEEDED
    return {
        "planned_at": text_of(given.planned_at),
        "started_at": text_of(start.at),
        "finished_at": text_of(end.at if end else None),
        "lateness_ms": given.lateness_ms,
        "token": given.token,
        "status": "RUNNING" if end is None else "SUCCEEDED" if ended_well else "FAILED",
    }
