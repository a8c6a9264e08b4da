"""The bodies of requests that change tasks."""

from collections.abc import Iterable
from typing import Final

from pydantic import Field, JsonValue, model_validator

from functions.api.forms import DELAY_SECONDS_MAX, Form, Instant
from functions.api.tasks.fields import (
    Cron,
    ExpirySeconds,
    FlowControlForm,
    JitterSeconds,
    MaxRuns,
    Name,
    PayloadRef,
    RetryForm,
    Tags,
    TimeoutSeconds,
    WindowSeconds,
    Zone,
    refuse_two_payloads,
)
from functions.api.tasks.targets import TargetForm
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Overlap
from postdate.domain.errors import ValidationFailed
from postdate.domain.task import Ack

_OF_ONE_TIME: Final = frozenset(
    {"run_at", "delay_seconds", "target", "payload", "payload_ref", "retry", "flow_control"}
)
_MAY_BE_NULL: Final = frozenset({"payload", "flow_control"})


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
            raise ValueError("at least one field is needed")
        if self.run_at is not None and self.delay_seconds is not None:
            raise ValueError("only one of run_at and delay_seconds is allowed")
        refuse_two_payloads(
            self, payload="payload" in self.model_fields_set, payload_ref=self.payload_ref is not None
        )
        return self
