"""Changes of the table `accounts` as events. Payments have events of their own: what they do to a balance is none of
the account's."""

from typing import Any

from functions.record.changes import Change
from functions.record.noted import events_of, number, there
from postdate.domain.event import Event, Subject
from postdate.stores.account_row import id_of
from postdate.stores.attributes import AttributeMap

_LIMITS = {
    "amount_min": "amount_min",
    "amount_max": "amount_max",
    "delay_min": "delay_seconds_min",
    "delay_max": "delay_seconds_max",
}


def event_of(change: Change) -> list[Event]:
    row = change.after
    id = id_of(row["account"]["S"])
    return events_of(
        change,
        Subject(tenant=row["tenant"]["S"], kind="account", id=id),
        before=_fields(change.before) if change.before else None,
        after=_fields(row),
        accounts=(id,),
    )


def _fields(row: AttributeMap) -> dict[str, Any]:
    """Limits that the account does not set are left out."""
    available, reserved = int(row["available"]["N"]), int(row["reserved"]["N"])
    limits = there({told: number(row, name) for name, told in _LIMITS.items()})
    return there(
        {
            "status": row["status"]["S"],
            "balance": available + reserved,
            "available": available,
            "reserved": reserved,
            "limits": limits or None,
        }
    )
