"""What a caller may say about a task, and what we say back."""

import json
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from functions.api.forms import DELAY_SECONDS_MAX, KEY_PATTERN, Form, Instant, text_of
from postdate.domain import instants
from postdate.domain.errors import PayloadTooLarge, ValidationFailed
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import Destination, State, Task

PAYLOAD_BYTES_MAX = 256 * 1024
PAST_ALLOWED = timedelta(minutes=1)

Tag = Annotated[str, Field(min_length=1, max_length=64)]
Name = Annotated[str, Field(min_length=1, max_length=128)]


class WebhookForm(Form):
    type: Literal["webhook"]
    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = Field({})

    def destination(self) -> Destination:
        return Destination(
            type=self.type, address=self.url, method=self.method, headers=tuple(self.headers.items())
        )


class SqsForm(Form):
    type: Literal["sqs"]
    queue_url: str

    def destination(self) -> Destination:
        return Destination(type=self.type, address=self.queue_url)


TargetForm = Annotated[WebhookForm | SqsForm, Field(discriminator="type")]


class RetryForm(Form):
    max_attempts: int = Field(5, ge=1, le=20)
    initial_seconds: float = Field(5.0, ge=0.1, le=86_400)
    multiplier: float = Field(2.0, ge=1, le=10)
    max_seconds: float = Field(900.0, ge=1, le=86_400)
    jitter: bool = True

    def policy(self) -> RetryPolicy:
        return RetryPolicy(**self.model_dump())


class TaskForm(Form):
    run_at: Instant | None = None
    delay_seconds: int | None = Field(None, ge=0, le=DELAY_SECONDS_MAX)
    target: TargetForm
    payload: JsonValue = None
    retry: RetryForm = RetryForm()
    timeout_seconds: int = Field(30, ge=1, le=900)
    name: Name | None = None
    tags: list[Tag] = Field([], max_length=10)

    @model_validator(mode="after")
    def _has_one_instant(self) -> "TaskForm":
        if (self.run_at is None) == (self.delay_seconds is None):
            raise ValueError("one of run_at and delay_seconds is needed")
        return self


class BatchTaskForm(TaskForm):
    idempotency_key: str | None = Field(None, pattern=KEY_PATTERN)


class BatchForm(Form):
    tasks: list[JsonValue] = Field(min_length=1, max_length=100)


class TaskChangeForm(Form):
    run_at: Instant | None = None
    delay_seconds: int | None = Field(None, ge=0, le=DELAY_SECONDS_MAX)
    target: TargetForm | None = None
    payload: JsonValue = None
    retry: RetryForm | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "TaskChangeForm":
        changed = {
            name for name in self.model_fields_set if name == "payload" or getattr(self, name) is not None
        }
        if not changed:
            raise ValueError("nothing to change")
        if self.run_at is not None and self.delay_seconds is not None:
            raise ValueError("only one of run_at and delay_seconds makes sense")
        return self


def due_at(form: TaskForm | TaskChangeForm, now: datetime) -> datetime | ValidationFailed | None:
    """The instant asked for, or what speaks against it. One that has just passed means now: the caller's clock is
    not ours."""
    if form.delay_seconds is not None:
        return now + timedelta(seconds=form.delay_seconds)
    if form.run_at is None:
        return None
    if form.run_at < now - PAST_ALLOWED:
        return ValidationFailed([("run_at", "is in the past")])
    if form.run_at > now + timedelta(seconds=DELAY_SECONDS_MAX):
        return ValidationFailed([("run_at", "is more than a year ahead")])
    return max(instants.whole(form.run_at), now)


def payload_text(payload: JsonValue) -> str:
    try:
        text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise ValidationFailed([("payload", "holds a number that no reader would read back")]) from None
    if len(text.encode()) > PAYLOAD_BYTES_MAX:
        raise PayloadTooLarge
    return text


def view(task: Task) -> dict[str, Any]:
    """A task as its owner sees it. Values of headers may be credentials: only their names are told."""
    return {
        "task_id": task.id,
        "status": task.state.value,
        "name": task.name,
        "tags": list(task.tags),
        "target": _target(task.destination),
        "run_at": text_of(task.planned_at),
        "next_run_at": text_of(task.due_at) if task.state.waits else None,
        "attempts": task.attempts,
        "last_run": _last_run(task),
        "error": task.error,
        "retry": {name: getattr(task.retry, name) for name in RetryPolicy.__dataclass_fields__},
        "timeout_seconds": task.timeout_seconds,
        "created_at": text_of(task.created_at),
        "version": task.version,
        "history": [
            {
                "version": line.version,
                "at": text_of(line.at),
                "status": line.to.value,
                "attempt": line.attempt,
                "reason": line.why,
            }
            for line in task.history
        ],
    }


def _target(destination: Destination) -> dict[str, Any]:
    if destination.type == "sqs":
        return {"type": "sqs", "queue_url": destination.address}
    headers = {name: "***" for name, _ in destination.headers}
    return {
        "type": destination.type,
        "url": destination.address,
        "method": destination.method,
        "headers": headers,
    }


def _last_run(task: Task) -> dict[str, Any] | None:
    """The newest attempt as the history tells it: the line after its start says how it ended."""
    starts = [place for place, line in enumerate(task.history) if line.to is State.RUNNING]
    if not starts:
        return None
    start, *later = task.history[starts[-1] :]
    end = later[0] if later else None
    ended_well = end is not None and end.to is State.SUCCEEDED
    return {
        "planned_at": text_of(task.planned_at),
        "started_at": text_of(start.at),
        "finished_at": text_of(end.at if end else None),
        "lateness_ms": task.lateness_ms,
        "token": task.token,
        "status": "RUNNING" if end is None else "SUCCEEDED" if ended_well else "FAILED",
    }
