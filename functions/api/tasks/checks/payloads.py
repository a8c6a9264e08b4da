"""The payload of a request: JSON in the request itself, or the address of an object in the tenant's prefix."""

from functions.api.tasks.change_forms import TaskChangeForm
from functions.api.tasks.forms import TaskForm, payload_text
from functions.api.tasks.recurring.forms import RecurringChangeForm
from postdate.domain.errors import ValidationFailed
from postdate.domain.payload_ref import NAME_RULE, object_of, prefix_of
from postdate.domain.task import Payload


def payload_of(form: TaskForm | TaskChangeForm | RecurringChangeForm, *, bucket: str, tenant: str) -> Payload:
    """The payload of a form. Raises ValidationFailed for an address outside the tenant's prefix. The object itself is
    read at delivery."""
    if form.payload_ref is None:
        return Payload(text=payload_text(form.payload))
    if object_of(form.payload_ref, bucket=bucket, tenant=tenant) is None:
        wanted = f"is {prefix_of(bucket, tenant)} and a name after it: {NAME_RULE}"
        raise ValidationFailed([(form.named("payload_ref"), wanted)])
    return Payload(ref=form.payload_ref)
