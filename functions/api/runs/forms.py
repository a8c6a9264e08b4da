"""What a receiver may say about a run, and what is told of runs."""

import re
from datetime import datetime
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from functions.api.forms import Form, text_of
from postdate.domain.task import State, Task

_HTTP: Final = re.compile(r"http ([0-9]{3})")
_TOKEN: Final = re.compile(r"^[0-9]{1,9}$")
_TELLS_WHY: Final = frozenset({State.SKIPPED, State.MISSED, State.CANCELLED, State.EXPIRED, State.DEAD})


def _number(given: object) -> object:
    """A header is a text; a receiver may send back what it got as it is."""
    if isinstance(given, str) and _TOKEN.fullmatch(given):
        return int(given)
    if isinstance(given, str):
        raise ValueError("is a token as a delivery carries it: a number of at most nine digits")
    return given


Token = Annotated[
    int,
    Field(ge=1, le=999_999_999),
    BeforeValidator(_number, json_schema_input_type=int | Annotated[str, Field(pattern=_TOKEN.pattern)]),
]
Error = Annotated[str, Field(min_length=1, max_length=200)]


class CompleteForm(Form):
    token: Token


class FailForm(Form):
    token: Token
    error: Error | None = None
    final: bool = False


class HeartbeatForm(Form):
    token: Token
    extend_seconds: Annotated[int, Field(ge=1, le=900)] | None = None


def summary(task: Task) -> dict[str, Any]:
    return {
        "run_id": task.id,
        "planned_at": text_of(task.planned_at),
        "started_at": text_of(_started_at(task)),
        "finished_at": text_of(task.finished_at),
        "lateness_ms": task.lateness_ms,
        "status": task.state.value,
        "reason": task.history[-1].why if task.state in _TELLS_WHY else None,
    }


def view(task: Task) -> dict[str, Any]:
    return {
        **summary(task),
        "task_id": task.task_id,
        "attempts": attempts(task),
        "next_attempt_at": text_of(task.due_at) if task.state.waits else None,
        "token": task.token,
        "lease_until": text_of(task.lease_until),
        "version": task.version,
    }


def attempts(task: Task) -> list[dict[str, Any]]:
    """As the history tells them: from each claim to the line that says how it ended. A line that is RUNNING again
    with the same number says that the receiver has accepted; with another one, that the attempt before was given up. A
    claim that was released, for nothing was sent under it, is no attempt: the line after it counts one less."""
    found: list[dict[str, Any]] = []
    for line in task.history:
        now_open = found[-1] if found and found[-1]["outcome"] == "RUNNING" else None
        if line.to is State.RUNNING:
            if now_open is not None and now_open["number"] == line.attempt:
                continue
            if now_open is not None:
                now_open |= _ended(line.at, "FAILED", line.why)
            found.append(
                {
                    "number": line.attempt,
                    "started_at": text_of(line.at),
                    "finished_at": None,
                    "outcome": "RUNNING",
                    "http_status": None,
                    "error": None,
                }
            )
        elif now_open is not None and line.attempt < now_open["number"]:
            found.pop()
        elif now_open is not None:
            now_open |= _ended(line.at, "SUCCEEDED" if line.to is State.SUCCEEDED else "FAILED", line.why)
    return found


def _ended(at: datetime, outcome: str, why: str) -> dict[str, Any]:
    status = _HTTP.fullmatch(why)
    return {
        "finished_at": text_of(at),
        "outcome": outcome,
        "http_status": int(status[1]) if status else None,
        "error": None if outcome == "SUCCEEDED" else why,
    }


def _started_at(task: Task) -> datetime | None:
    return next((line.at for line in task.history if line.to is State.RUNNING), None)
