"""Requests to change a task, as changes of its fields. Raises the error of a field that cannot be changed so."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from functions.api.registering import allowed
from functions.api.tasks import fields, orders
from functions.api.tasks.change_forms import TaskChangeForm
from functions.api.tasks.checks import timeouts
from functions.api.tasks.checks.payloads import payload_of
from functions.api.tasks.checks.places import outrun
from functions.api.tasks.due import due_at, instant_field
from functions.api.tasks.recurring.forms import RecurringChangeForm, changes_of, template_changes_of
from functions.api.wiring import wired
from postdate.domain.definition import Definition, Overlap
from postdate.domain.task import Destination, Task


def change(tenant: str, task_id: str, form: TaskChangeForm, *, version: int | None) -> Task:
    return wired().tasks.changer.edit(
        tenant, task_id, version=version, due_at=_instant(form), **_changes(form, tenant)
    )


def change_plan(tenant: str, task_id: str, form: RecurringChangeForm, *, version: int | None) -> Definition:
    template = template_changes_of(form) | _payload(form, tenant)
    if "destination" in template:
        template["destination"] = _checked(template["destination"], tenant)
    return wired().recurring.changer.edit(
        tenant,
        task_id,
        version=version,
        changes=lambda kept: _plan_changes(form, kept),
        template=template,
    )


def _plan_changes(form: RecurringChangeForm, kept: Definition) -> dict[str, Any]:
    """A stored timeout may be above today's limit. It stays as long as neither `timeout_seconds` nor `ack` changes."""
    if {"timeout_seconds", "ack"} & form.changed():
        too_long = timeouts.refusal(
            form.timeout_seconds or kept.template.timeout_seconds,
            form.ack or kept.template.ack,
            response_seconds_max=wired().response_timeout_seconds_max,
            named=form.named,
        )
        if too_long is not None:
            raise too_long
    changes = changes_of(form, kept)
    # Only overlapping runs can pile up behind a rate.
    if changes.get("overlap", kept.overlap) is Overlap.ALLOW:
        control = template_changes_of(form).get("flow", kept.template.flow)
        refusal = outrun(changes.get("schedule", kept.schedule), control, now=wired().clock.now())
        if refusal is not None:
            raise refusal
    return changes


def _instant(form: TaskChangeForm) -> datetime | None:
    now = wired().clock.now()
    return allowed(due_at(form, now), now, field=instant_field(form))


def _changes(form: TaskChangeForm, tenant: str) -> Mapping[str, Any]:
    """The fields of a task that the request changes. An instant is not among them."""
    changes = _payload(form, tenant)
    if form.target is not None:
        changes["destination"] = _checked(form.target.destination(), tenant)
    if form.retry is not None:
        changes["retry"] = form.retry.policy()
    if "flow_control" in form.model_fields_set:
        changes["flow"] = fields.flow(form.flow_control)
    return changes


def _payload(form: TaskChangeForm | RecurringChangeForm, tenant: str) -> dict[str, Any]:
    given = "payload" in form.model_fields_set or form.payload_ref is not None
    return {"payload": payload_of(form, bucket=wired().payloads_bucket, tenant=tenant)} if given else {}


def _checked(destination: Destination, tenant: str) -> Destination:
    """The destination as rows keep it. Raises the refusal of one that may not be called."""
    for refusal in orders.refused([destination], tenant).values():
        raise refusal
    return wired().vault.sealed(tenant, destination)
