"""The form of the plan of a recurring task."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import Field, model_validator

from functions.api.forms import Form, Instant
from functions.api.tasks.change_forms import ChangeForm
from functions.api.tasks.fields import Cron, Zone, flow, refuse_two_payloads
from functions.api.tasks.forms import TaskForm
from functions.api.texts import SEEN
from postdate.domain import cron, instants
from postdate.domain.definition import Definition
from postdate.domain.errors import ValidationFailed
from postdate.domain.preview import COUNT_MAX
from postdate.domain.schedule import Schedule

# The fields that null clears. For all others null means unchanged.
_MAY_BE_MISSING: Final = frozenset(
    {"start_at", "end_at", "max_runs", "expires_after_seconds", "flow_control", "name"}
)
_OF_SCHEDULE: Final = frozenset({"cron", "timezone", "start_at", "end_at", "max_runs", "jitter_seconds"})

Reason = Annotated[str, Field(min_length=1, max_length=200), SEEN]


class RecurringChangeForm(ChangeForm):
    """A change of a recurring task."""

    @model_validator(mode="after")
    def _changes_something(self) -> "RecurringChangeForm":
        self.refuse(("run_at", "delay_seconds"), "can be changed of a one-time task only")
        if not self.changed():
            raise ValueError("at least one field is needed")
        refuse_two_payloads(
            self, payload="payload" in self.model_fields_set, payload_ref=self.payload_ref is not None
        )
        return self

    def changed(self) -> frozenset[str]:
        taken_away = _MAY_BE_MISSING | {"payload"}
        return frozenset(
            name for name in self.model_fields_set if name in taken_away or getattr(self, name) is not None
        )

    def schedule(self, kept: Schedule) -> Schedule | None:
        """The changed plan; None if the request does not change the plan."""
        changed = self.changed() & _OF_SCHEDULE
        if not changed:
            return None
        fields = {
            name: getattr(self, name) if name in changed else getattr(kept, name)
            for name in ("start_at", "end_at", "max_runs", "jitter_seconds")
        }
        return schedule(
            kept.cron.text if self.cron is None else self.cron,
            kept.cron.timezone if self.timezone is None else self.timezone,
            definition_id=kept.definition_id,
            **fields,
        )


class PauseForm(Form):
    reason: Reason | None = None


class BackfillForm(Form):
    from_: Instant = Field(alias="from")
    to: Instant


class PreviewForm(Form):
    """Exactly one of `cron` and `task_id` is needed. `timezone` goes with a `cron` only."""

    cron: Cron | None = None
    timezone: Zone | None = None
    task_id: str | None = Field(None, max_length=64)
    from_: Instant | None = Field(None, alias="from")
    count: int = Field(10, ge=1, le=COUNT_MAX)

    @model_validator(mode="after")
    def _has_one_plan(self) -> "PreviewForm":
        if (self.cron is None) == (self.task_id is None):
            raise ValueError("one of cron and task_id is needed")
        if self.task_id is not None and self.timezone is not None:
            raise ValidationFailed([("timezone", "cannot be set with task_id: the task has a time zone")])
        return self


def schedule(
    text: str,
    timezone: str,
    *,
    definition_id: str = "",
    start_at: datetime | None = None,
    end_at: datetime | None = None,
    max_runs: int | None = None,
    jitter_seconds: int = 0,
) -> Schedule:
    return Schedule.checked(
        cron=cron.Cron.parse(text, timezone),
        definition_id=definition_id,
        start_at=None if start_at is None else instants.whole(start_at),
        end_at=None if end_at is None else instants.whole(end_at),
        max_runs=max_runs,
        jitter_seconds=jitter_seconds,
    )


def schedule_of(form: TaskForm, *, definition_id: str = "") -> Schedule:
    """The plan of a registration. Raises ValidationFailed with the names that the client used."""
    try:
        return schedule(
            form.cron or "",
            form.timezone,
            definition_id=definition_id,
            start_at=form.start_at,
            end_at=form.end_at,
            max_runs=form.max_runs,
            jitter_seconds=form.jitter_seconds,
        )
    except ValidationFailed as refused:
        raise renamed(refused, form.named) from None


def renamed(refused: ValidationFailed, named: Callable[[str], str]) -> ValidationFailed:
    return type(refused)([(named(name), message) for name, message in refused.fields])


def changes_of(form: RecurringChangeForm, definition: Definition) -> dict[str, Any]:
    """The fields of the Definition that the request changes, without the template."""
    changed = form.changed()
    changes: dict[str, Any] = {
        name: getattr(form, name) for name in ("overlap", "catch_up", "name") if name in changed
    }
    if (plan := form.schedule(definition.schedule)) is not None:
        changes["schedule"] = plan
    if form.catch_up_window_seconds is not None:
        changes["catch_up_window"] = timedelta(seconds=form.catch_up_window_seconds)
    if form.tags is not None:
        changes["tags"] = tuple(form.tags)
    return changes


def template_changes_of(form: RecurringChangeForm) -> dict[str, Any]:
    changed = form.changed()
    changes: dict[str, Any] = {
        name: getattr(form, name) for name in ("timeout_seconds", "ack") if name in changed
    }
    if form.target is not None:
        changes["destination"] = form.target.destination()
    if form.retry is not None:
        changes["retry"] = form.retry.policy()
    if "expires_after_seconds" in changed:
        seconds = form.expires_after_seconds
        changes["expires_after"] = None if seconds is None else timedelta(seconds=seconds)
    if "flow_control" in changed:
        changes["flow"] = flow(form.flow_control)
    return changes
