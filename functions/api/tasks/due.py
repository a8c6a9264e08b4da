"""The instant that a request about a task asks for."""

from datetime import datetime, timedelta

from functions.api.forms import DELAY_SECONDS_MAX
from functions.api.tasks.change_forms import TaskChangeForm
from functions.api.tasks.forms import TaskForm
from postdate.domain import instants
from postdate.domain.errors import ValidationFailed

PAST_ALLOWED = timedelta(minutes=1)


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
