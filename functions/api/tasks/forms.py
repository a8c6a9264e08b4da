"""The bodies of requests about tasks."""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Final

from pydantic import Field, JsonValue, model_validator

from functions.api import patterns
from functions.api.forms import DELAY_SECONDS_MAX, Form, Instant
from functions.api.tasks.targets import TargetForm
from functions.api.texts import SEEN
from postdate.domain import instants
from postdate.domain.catch_up import WINDOW_MAX, CatchUp
from postdate.domain.definition import CATCH_UP_WINDOW, Overlap
from postdate.domain.errors import PayloadTooLarge, ValidationFailed
from postdate.domain.flow import PARALLELISM_MAX, FlowControl
from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX
from postdate.domain.retry import ATTEMPTS_MAX, RetryPolicy
from postdate.domain.schedule import JITTER_SECONDS_MAX
from postdate.domain.spread import SPREAD_SECONDS_MAX
from postdate.domain.task import Ack, Destination, Payload, Template

PAST_ALLOWED = timedelta(minutes=1)
OF_RECURRING: Final = (
    *("timezone", "start_at", "end_at", "max_runs", "jitter_seconds"),
    *("overlap", "catch_up", "catch_up_window_seconds"),
)
_OF_ONE_TIME: Final = frozenset(
    {"run_at", "delay_seconds", "target", "payload", "payload_ref", "retry", "flow_control"}
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
SpreadSeconds = Annotated[int, Field(ge=0, le=SPREAD_SECONDS_MAX)]
Tag = Annotated[str, Field(min_length=1, max_length=64), SEEN]
Tags = Annotated[list[Tag], Field(max_length=10)]
Name = Annotated[str, Field(min_length=1, max_length=128), SEEN]
PayloadRef = Annotated[str, Field(max_length=1200)]


class RetryForm(Form):
    max_attempts: int = Field(_USUAL.max_attempts, ge=1, le=ATTEMPTS_MAX)
    initial_seconds: float = Field(_USUAL.initial_seconds, ge=0.1, le=86_400)
    multiplier: float = Field(_USUAL.multiplier, ge=1, le=10)
    max_seconds: float = Field(_USUAL.max_seconds, ge=1, le=86_400)
    jitter: bool = _USUAL.jitter

    def policy(self) -> RetryPolicy:
        return RetryPolicy(**self.model_dump())


class FlowControlForm(Form):
    """`rate`, `parallelism` or both are needed. Only with a `rate` may `period_seconds` differ from its default."""

    key: Name
    rate: int | None = Field(None, ge=1, le=10_000)
    period_seconds: int = Field(1, ge=1, le=86_400)
    parallelism: int | None = Field(None, ge=1, le=PARALLELISM_MAX)

    @model_validator(mode="after")
    def _controls_something(self) -> "FlowControlForm":
        if self.rate is None and self.parallelism is None:
            raise ValueError("one of rate and parallelism is needed")
        if self.rate is None and not self.at_default("period_seconds"):
            raise ValueError(f"{self.named('period_seconds')} needs a rate")
        return self

    def control(self) -> FlowControl:
        return FlowControl(**self.model_dump())


class TaskForm(Form):
    """Exactly one of `run_at`, `delay_seconds` and `cron` is needed. With a `cron` the task is a recurring one; only
    then may `timezone`, `start_at`, `end_at`, `max_runs`, `jitter_seconds`, `overlap`, `catch_up` and
    `catch_up_window_seconds` differ from their defaults. `spread_seconds` is for tasks that run once. At most one of
    `payload` and `payload_ref` is given.
    """

    run_at: Instant | None = None
    delay_seconds: int | None = Field(None, ge=0, le=DELAY_SECONDS_MAX)
    cron: Cron | None = None
    spread_seconds: SpreadSeconds | None = None
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

    # True if the Idempotency-Key is kept with the task, to be told again.
    tells_key: ClassVar[bool] = False

    def destination(self, usual: Destination | None) -> Destination:
        """Returns the destination of the task. `usual` is the tenant's default."""
        return self.target.destination()

    def template(self, destination: Destination, payload: Payload, *, depth: int) -> Template:
        after = self.expires_after_seconds
        return Template(
            destination=destination,
            payload=payload,
            retry=self.retry.policy(),
            timeout_seconds=self.timeout_seconds,
            ack=self.ack,
            expires_after=None if after is None else timedelta(seconds=after),
            flow=flow(self.flow_control),
            depth=depth,
        )

    @model_validator(mode="after")
    def _says_when(self) -> "TaskForm":
        ways = [name for name in ("run_at", "delay_seconds", "cron") if getattr(self, name) is not None]
        if len(ways) != 1:
            raise ValueError(
                f"one of {', '.join(map(self.named, ('run_at', 'delay_seconds', 'cron')))} is needed"
            )
        if self.cron is None and (wrong := [name for name in OF_RECURRING if not self.at_default(name)]):
            raise ValidationFailed([(self.named(name), "needs a cron") for name in wrong])
        if self.cron is not None and self.spread_seconds is not None:
            jitter = self.named("jitter_seconds")
            raise ValidationFailed(
                [(self.named("spread_seconds"), f"is for tasks that run once; a cron has {jitter}")]
            )
        return self

    @model_validator(mode="after")
    def _says_what(self) -> "TaskForm":
        refuse_two_payloads(self, self.payload is not None)
        return self


class BatchTaskForm(TaskForm):
    """A task of a batch. Exactly one of `run_at`, `delay_seconds` and `cron` is needed; further rules as for a single
    task.
    """

    idempotency_key: str | None = Field(None, pattern=patterns.IDEMPOTENCY_KEY)


class BatchForm(Form):
    tasks: list[JsonValue] = Field(min_length=1, max_length=100)


class ChangeForm(Form):
    """At least one field is needed. `run_at` and `delay_seconds` exclude each other, and so do `payload` and
    `payload_ref`. Of a one-time task, `run_at`, `delay_seconds`, `target`, `payload`, `payload_ref`, `retry` and
    `flow_control` can be changed; of a recurring task, all but `run_at` and `delay_seconds`.
    """

    run_at: Instant | None = None
    delay_seconds: int | None = Field(None, ge=0, le=DELAY_SECONDS_MAX)
    cron: Cron | None = None
    timezone: Zone | None = None
    start_at: Instant | None = None
    end_at: Instant | None = None
    max_runs: MaxRuns | None = None
    jitter_seconds: JitterSeconds | None = None
    overlap: Overlap | None = None
    catch_up: CatchUp | None = None
    catch_up_window_seconds: WindowSeconds | None = None
    target: TargetForm | None = None
    payload: JsonValue = None
    payload_ref: PayloadRef | None = None
    retry: RetryForm | None = None
    timeout_seconds: TimeoutSeconds | None = None
    ack: Ack | None = None
    expires_after_seconds: ExpirySeconds | None = None
    flow_control: FlowControlForm | None = None
    name: Name | None = None
    tags: Tags | None = None

    def refuse(self, fields: Iterable[str], message: str) -> None:
        wrong = [name for name in fields if getattr(self, name) is not None]
        if wrong:
            raise ValidationFailed([(name, message) for name in wrong])


class TaskChangeForm(ChangeForm):
    """A change of a one-time task."""

    @model_validator(mode="after")
    def _changes_something(self) -> "TaskChangeForm":
        self.refuse(ChangeForm.model_fields.keys() - _OF_ONE_TIME, "can be changed of a recurring task only")
        if not any(name in _MAY_BE_NULL or getattr(self, name) is not None for name in self.model_fields_set):
            raise ValueError("nothing to change")
        if self.run_at is not None and self.delay_seconds is not None:
            raise ValueError("only one of run_at and delay_seconds makes sense")
        refuse_two_payloads(self, "payload" in self.model_fields_set)
        return self


def instant_field(form: TaskForm | TaskChangeForm) -> str:
    return "run_at" if form.delay_seconds is None else "delay_seconds"


def due_at(form: TaskForm | TaskChangeForm, now: datetime) -> datetime | ValidationFailed | None:
    """The instant of the request, or the error in it; None if the request has no instant. An instant up to a minute ago
    means now, because the client's clock may differ from ours."""
    if form.delay_seconds is not None:
        return now + timedelta(seconds=form.delay_seconds)
    if form.run_at is None:
        return None
    if form.run_at < now - PAST_ALLOWED:
        return ValidationFailed([(form.named("run_at"), "is in the past")])
    if form.run_at > now + timedelta(seconds=DELAY_SECONDS_MAX):
        return ValidationFailed([(form.named("run_at"), "is more than a year ahead")])
    return max(instants.whole(form.run_at), now)


def flow(given: FlowControlForm | None) -> FlowControl | None:
    return None if given is None else given.control()


def refuse_two_payloads(form: TaskForm | ChangeForm, given: bool) -> None:
    """Raises ValueError for two payloads. `given` is true if the request has a `payload`; in a change null counts."""
    if given and form.payload_ref is not None:
        raise ValueError(f"only one of {form.named('payload')} and {form.named('payload_ref')} makes sense")


def payload_text(payload: JsonValue) -> str:
    try:
        text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise ValidationFailed([("payload", "contains a number that is too large")]) from None
    if len(text.encode()) > PAYLOAD_BYTES_MAX:
        raise PayloadTooLarge
    return text
