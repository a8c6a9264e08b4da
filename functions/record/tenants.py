"""Changes of the table `tenants` as events: of the tenant, and of its signing secret, which is a subject of its own."""

import json
from typing import Any

from functions.record.changes import Change
from functions.record.noted import events_of, number, text, texts, there
from postdate.domain.erasing import is_erased
from postdate.domain.event import SERVICE, Event, Subject
from postdate.domain.event_body import instant_text
from postdate.stores.attributes import AttributeMap, instant
from postdate.stores.notes import ROTATIONS

_QUOTAS = ("registered_a_second", "runs_in_flight")


def event_of(change: Change) -> list[Event]:
    row = change.after
    id = row["tenant"]["S"]
    if is_erased(id):
        # The service's: the tenant that was has no feed any more. The row tells no name of it.
        return events_of(change, Subject(tenant=SERVICE, kind="tenant", id=id), before=None, after={})
    own = events_of(
        change,
        Subject(tenant=id, kind="tenant", id=id),
        before=_fields(change.before) if change.before else None,
        after=_fields(row),
    )
    rotated = events_of(
        change,
        Subject(tenant=id, kind="secret", id="signing-secret"),
        before=None,
        after=there({"replaced_secret_until": instant_text(instant(number(row, "signing_until")))}),
        counter=ROTATIONS,
    )
    return own + rotated


def _fields(row: AttributeMap) -> dict[str, Any]:
    """The headers of the default target may be credentials, and its query as well: neither is told."""
    target = json.loads(row["default_target"]["S"]) if "default_target" in row else None
    return there(
        {
            "status": "SUSPENDED" if "suspended_because" in row else "ACTIVE",
            "suspended_because": text(row, "suspended_because"),
            "tier": text(row, "tier"),
            "destinations": texts(row, "destinations"),
            "default_target": target
            and {"type": target["type"], "address": target["address"].partition("?")[0]},
            **{name: number(row, name) for name in _QUOTAS},
        }
    )
