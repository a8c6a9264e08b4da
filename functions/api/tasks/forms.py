"""What a caller may say about a task, and what we say back."""

import json
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue, model_validator

from functions.api import patterns
from functions.api.forms import DELAY_SECONDS_MAX, Form, Instant, text_of
from functions.api.texts import SEEN
from postdate.domain import instants
from postdate.domain.catch_up import WINDOW_MAX, CatchUp
from postdate.domain.definition import CATCH_UP_WINDOW, Overlap
from postdate.domain.errors import PayloadTooLarge, ValidationFailed
from postdate.domain.flow import PARALLELISM_MAX, FlowControl
from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX
from postdate.domain.retry import ATTEMPTS_MAX, RetryPolicy
from postdate.domain.schedule import JITTER_SECONDS_MAX
from postdate.domain.task import Ack, Destination, State, Task

PAST_ALLOWED = timedelta(minutes=1)
OF_RECURRING: Final = (
    *("timezone", "start_at", "end_at", "max_runs", "jitter_seconds"),
    *("overlap", "catch_up", "catch_up_window_seconds"),
)
_MAY_BE_NULL: Final = frozenset({"payload", "flow_control"})
_USUAL: Final = RetryPolicy()
_SECOND: Final = timedelta(seconds=1)

Cron = Annotated[str, Field(min_length=1, max_length=256)]
Zone = Annotated[str, Field(min_length=1, max_length=64)]
MaxRuns = Annotated[int, Field(ge=1, le=1_000_000_000)]
JitterSeconds = Annotated[int, Field(ge=0, le=JITTER_SECONDS_MAX)]
WindowSeconds = Annotated[int, Field(ge=1, le=WINDOW_MAX // _SECOND)]
TimeoutSeconds = Annotated[int, Field(ge=1, le=900)]
ExpirySeconds = Annotated[int, Field(ge=1, le=DELAY_SECONDS_MAX)]
Tag = Annotated[str, Field(min_length=1, max_length=64), SEEN]
Tags = Annotated[list[Tag], Field(max_length=10)]
Name = Annotated[str, Field(min_length=1, max_length=128), SEEN]
PayloadRef = Annotated[str, Field(max_length=1200)]


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


class EventBridgeForm(Form):
    type: Literal["eventbridge"]
    bus: str
    detail_type: Name

    def destination(self) -> Destination:
        return Destination(type=self.type, address=self.bus, detail_type=self.detail_type)


TargetForm = Annotated[WebhookForm | SqsForm | EventBridgeForm, Field(discriminator="type")]


class RetryForm(Form):
    max_attempts: int = Field(_USUAL.max_attempts, ge=1, le=ATTEMPTS_MAX)
    initial_seconds: float = Field(_USUAL.initial_seconds, ge=0.1, le=86_400)
    multiplier: float = Field(_USUAL.multiplier, ge=1, le=10)
    max_seconds: float = Field(_USUAL.max_seconds, ge=1, le=86_400)
    jitter: bool = _USUAL.jitter

    def policy(self) -> RetryPolicy:
        return RetryPolicy(**self.model_dump())


class FlowControlForm(Form):
    key: Name
    rate: int | None = Field(None, ge=1, le=10_000)
    period_seconds: int = Field(1, ge=1, le=86_400)
    parallelism: int | None = Field(None, ge=1, le=PARALLELISM_MAX)

    @model_validator(mode="after")
    def _controls_something(self) -> "FlowControlForm":
        if self.rate is None and self.parallelism is None:
            raise ValueError("one of rate and parallelism is needed")
        if self.rate is None and "period_seconds" in self.model_fields_set:
            raise ValueError("period_seconds needs a rate")
        return self

    def control(self) -> FlowControl:
        return FlowControl(**self.model_dump())


class TaskForm(Form):
    """Once, at `run_at` or after `delay_seconds`; or again and again, as `cron` says."""

    run_at: Instant | None = None
    delay_seconds: int | None = Field(None, ge=0, le=DELAY_SECONDS_MAX)
    cron: Cron | None = None
    timezone: Zone = "UTC"
    start_at: Instant | None = None
    end_at: Instant | None = None
    max_runs: MaxRuns | None = None
    jitter_seconds: JitterSeconds = 0
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.LATEST
    catch_up_window_seconds: WindowSeconds = CATCH_UP_WINDOW // _SECOND
    target: TargetForm
    payload: JsonValue = None
    payload_ref: PayloadRef | None = None
    retry: RetryForm = RetryForm()
    timeout_seconds: TimeoutSeconds = 30
    ack: Ack = Ack.RESPONSE
    expires_after_seconds: ExpirySeconds | None = None
    flow_control: FlowControlForm | None = None
    name: Name | None = None
    tags: Tags = Field([])

    @model_validator(mode="after")
    def _says_when(self) -> "TaskForm":
        ways = [name for name in ("run_at", "delay_seconds", "cron") if getattr(self, name) is not None]
        if len(ways) != 1:
            raise ValueError(
                f"one of {', '.join(map(self.named, ('run_at', 'delay_seconds', 'cron')))} is needed"
            )
        given = [name for name in OF_RECURRING if name in self.model_fields_set]
        if self.cron is None and (wrong := [name for name in given if getattr(self, name) is not None]):
            raise ValidationFailed([(self.named(name), "needs a cron") for name in wrong])
        return self

    @model_validator(mode="after")
    def _says_what(self) -> "TaskForm":
        refuse_two_payloads(self, self.payload_ref)
        return self


class BatchTaskForm(TaskForm):
    idempotency_key: str | None = Field(None, pattern=patterns.IDEMPOTENCY_KEY)


class BatchForm(Form):
    tasks: list[JsonValue] = Field(min_length=1, max_length=100)


class TaskChangeForm(Form):
    run_at: Instant | None = None
    delay_seconds: int | None = Field(None, ge=0, le=DELAY_SECONDS_MAX)
    target: TargetForm | None = None
    payload: JsonValue = None
    payload_ref: PayloadRef | None = None
    retry: RetryForm | None = None
    flow_control: FlowControlForm | None = None

    @model_validator(mode="after")
    def _changes_something(self) -> "TaskChangeForm":
        changed = {
            name for name in self.model_fields_set if name in _MAY_BE_NULL or getattr(self, name) is not None
        }
        if not changed:
            raise ValueError("nothing to change")
        if self.run_at is not None and self.delay_seconds is not None:
            raise ValueError("only one of run_at and delay_seconds makes sense")
        refuse_two_payloads(self, self.payload_ref)
        return self


def due_at(form: TaskForm | TaskChangeForm, now: datetime) -> datetime | ValidationFailed | None:
    """The instant asked for, or what speaks against it. One that has just passed means now: the caller's clock is
    not ours."""
    if form.delay_seconds is not None:
        return now + timedelta(seconds=form.delay_seconds)
    if form.run_at is None:
        return None
    if form.run_at < now - PAST_ALLOWED:
        return ValidationFailed([(form.named("run_at"), "is in the past")])
    if form.run_at > now + timedelta(seconds=DELAY_SECONDS_MAX):
        return ValidationFailed([(form.named("run_at"), "is more than a year ahead")])
    return max(instants.whole(form.run_at), now)


def expires_after(form: TaskForm) -> timedelta | None:
    return None if form.expires_after_seconds is None else timedelta(seconds=form.expires_after_seconds)


def flow(given: FlowControlForm | None) -> FlowControl | None:
    return None if given is None else given.control()


def refuse_two_payloads(form: Form, ref: str | None) -> None:
    """null is a payload as well."""
    if ref is not None and "payload" in form.model_fields_set:
        raise ValueError(f"only one of {form.named('payload')} and {form.named('payload_ref')} makes sense")


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
        "target": target(task.destination),
        "payload_ref": task.payload.ref,
        "run_at": text_of(task.planned_at),
        "next_run_at": text_of(task.due_at) if task.state.waits else None,
        "attempts": task.attempts,
        "last_run": _last_run(task),
        "error": task.error,
        "retry": retry(task.retry),
        "timeout_seconds": task.timeout_seconds,
        "ack": task.ack.value,
        "expires_at": text_of(task.expires_at),
        "flow_control": flow_control(task.flow),
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


def retry(policy: RetryPolicy) -> dict[str, Any]:
    return {name: getattr(policy, name) for name in RetryPolicy.__dataclass_fields__}


def flow_control(flow: FlowControl | None) -> dict[str, Any] | None:
    if flow is None:
        return None
    return {name: getattr(flow, name) for name in FlowControl.__dataclass_fields__}


def target(destination: Destination) -> dict[str, Any]:
    if destination.type == "sqs":
        return {"type": "sqs", "queue_url": destination.address}
    if destination.type == "eventbridge":
        return {"type": "eventbridge", "bus": destination.address, "detail_type": destination.detail_type}
    headers = {name: "***" for name, _ in destination.headers}
    return {
        "type": destination.type,
        "url": destination.address,
        "method": destination.method,
        "headers": headers,
    }


def _last_run(task: Task) -> dict[str, Any] | None:
    """The newest attempt as the history tells it: the line after its start says how it ended. A claim under which
    nothing was sent is none: the line after it counts one attempt less."""
    lines = task.history
    ends = (*lines[1:], None)
    starts = [
        place
        for place, (line, end) in enumerate(zip(lines, ends, strict=True))
        if line.to is State.RUNNING and not (end and end.attempt < line.attempt)
    ]
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
