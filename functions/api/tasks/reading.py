"""Reads one form as the order to register its task."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from functions.api.forms import fingerprint
from functions.api.registering import too_far
from functions.api.tasks.checks import timeouts
from functions.api.tasks.checks.payloads import payload_of
from functions.api.tasks.checks.places import outrun
from functions.api.tasks.due import due_at, instant_field
from functions.api.tasks.forms import TaskForm
from functions.api.tasks.one_time.order import TaskOrder
from functions.api.tasks.recurring.forms import schedule_of
from functions.api.tasks.recurring.order import RecurringOrder
from functions.api.wiring import wired
from postdate.domain.definition import Overlap
from postdate.domain.errors import PostdateError
from postdate.domain.task import Destination, Template
from postdate.stores.tenants import Tenant

Asked = TaskOrder | RecurringOrder


def order_of(
    form: TaskForm,
    key: str | None,
    now: datetime,
    destination: Destination | PostdateError,
    against: Mapping[Destination, PostdateError],
    owner: Tenant,
    depth: int,
) -> Asked | PostdateError:
    """The order for a form, or its error. `destination` is that of the form or the tenant's default, and `against` has
    the errors of destinations that may not be called."""
    if isinstance(destination, PostdateError):
        return destination
    refusal = against.get(destination)
    try:
        payload = payload_of(form, bucket=wired().payloads_bucket, tenant=owner.id)
        template = form.template(wired().vault.sealed(owner.id, destination), payload, depth=depth)
        if form.cron is not None:
            return _recurring(form, key, template, now, refusal)
        return _once(form, key, template, now, refusal, spread_seconds=owner.tenancy.spread_seconds)
    except PostdateError as error:
        return error


def _once(
    form: TaskForm,
    key: str | None,
    template: Template,
    now: datetime,
    refusal: PostdateError | None,
    *,
    spread_seconds: int,
) -> TaskOrder:
    """`spread_seconds` is the tenant's default, for requests that name none."""
    instant = due_at(form, now)
    moment = instant if isinstance(instant, datetime) else now
    field = form.named(instant_field(form))
    refusal = (
        instant
        if isinstance(instant, PostdateError)
        else too_far(moment, now, field=field) or _too_long(form) or refusal
    )
    return TaskOrder(
        due_at=moment,
        spread_seconds=spread_seconds if form.spread_seconds is None else form.spread_seconds,
        refusal=refusal,
        template=template,
        name=form.name,
        tags=tuple(form.tags),
        idempotency_key=key,
        fingerprint=fingerprint(form),
        job_key=key if form.tells_key else None,
    )


def _recurring(
    form: TaskForm, key: str | None, template: Template, now: datetime, refusal: PostdateError | None
) -> RecurringOrder:
    schedule = schedule_of(form)
    refusal = _too_long(form) or refusal
    if refusal is None and form.overlap is Overlap.ALLOW:
        refusal = outrun(schedule, template.flow, now=now, named=form.named)
    return RecurringOrder(
        schedule=schedule,
        template=template,
        overlap=form.overlap,
        catch_up=form.catch_up,
        catch_up_window=timedelta(seconds=form.catch_up_window_seconds),
        name=form.name,
        tags=tuple(form.tags),
        idempotency_key=key,
        fingerprint=fingerprint(form),
        job_key=key if form.tells_key else None,
        refusal=refusal,
    )


def _too_long(form: TaskForm) -> PostdateError | None:
    return timeouts.refusal(
        form.timeout_seconds,
        form.ack,
        response_seconds_max=wired().response_timeout_seconds_max,
        named=form.named,
    )
