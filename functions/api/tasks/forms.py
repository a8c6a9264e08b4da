"""The bodies of requests that register tasks."""

import json
from datetime import timedelta
from typing import ClassVar, Final

from pydantic import Field, JsonValue, model_validator

from functions.api import patterns
from functions.api.forms import DELAY_SECONDS_MAX, Form, Instant
from functions.api.tasks.fields import (
    SECOND,
    Cron,
    ExpirySeconds,
    FlowControlForm,
    JitterSeconds,
    MaxRuns,
    Name,
    PayloadRef,
    RetryForm,
    SpreadSeconds,
    Tags,
    TimeoutSeconds,
    WindowSeconds,
    Zone,
    flow,
    refuse_two_payloads,
)
from functions.api.tasks.targets import TargetForm
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import CATCH_UP_WINDOW, Overlap
from postdate.domain.errors import PayloadTooLarge, ValidationFailed
from postdate.domain.payload_ref import PAYLOAD_BYTES_MAX
from postdate.domain.task import Ack, Destination, Payload, Template

OF_RECURRING: Final = (
    *("timezone", "start_at", "end_at", "max_runs", "jitter_seconds"),
    *("overlap", "catch_up", "catch_up_window_seconds"),
)


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
    catch_up_window_seconds: WindowSeconds = CATCH_UP_WINDOW // SECOND
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
        refuse_two_payloads(self, payload=self.payload is not None, payload_ref=self.payload_ref is not None)
        return self


class BatchTaskForm(TaskForm):
    """A task of a batch. Exactly one of `run_at`, `delay_seconds` and `cron` is needed; further rules as for a single
    task.
    """

    idempotency_key: str | None = Field(None, pattern=patterns.IDEMPOTENCY_KEY)


class BatchForm(Form):
    tasks: list[JsonValue] = Field(min_length=1, max_length=100)


def payload_text(payload: JsonValue) -> str:
    try:
        text = json.dumps(payload, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise ValidationFailed([("payload", "contains a number that is too large")]) from None
    if len(text.encode()) > PAYLOAD_BYTES_MAX:
        raise PayloadTooLarge
    return text
