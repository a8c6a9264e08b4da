"""Changes of the table `switches` as events: each turn of a switch, with the operator's reason.

A tenant is told about its own switch. All other switches belong to the service.
"""

from typing import Any

from functions.record.changes import Change
from functions.record.noted import number, text, there
from postdate.domain.event import SERVICE, Actor, Event, Subject, differences
from postdate.domain.event_body import instant_text
from postdate.domain.switch import TENANT
from postdate.stores.attributes import AttributeMap, instant


def event_of(change: Change) -> Event | None:
    """The event of a turned switch; None for a change that makes no version. Raises for a row whose turn this code
    cannot read: such a row is poisoned."""
    row, name = change.after, change.after["name"]["S"]
    if number(row, "version") == number(change.before, "version"):
        return None
    now = _fields(row)
    turned_at = instant(number(row, "turned_at"))
    if turned_at is None:
        raise ValueError(f"the switch {name} was turned at no instant")
    return Event(
        subject=Subject(tenant=_owner(name), kind="switch", id=name),
        type="switch.changed",
        sequence=int(row["version"]["N"]),
        occurred_at=turned_at,
        actor=Actor.parse(text(row, "by") or ""),
        data={"after": now, "before": differences(_fields(change.before), now), "reason": text(row, "why")},
    )


def _owner(name: str) -> str:
    return name.removeprefix(TENANT) if name.startswith(TENANT) else SERVICE


def _fields(row: AttributeMap) -> dict[str, Any]:
    """The fields of a switch that an event shows. `off_at` is the beginning of the newest stop, `on_at` its end. An
    empty row stands for a switch that was never turned, which is on."""
    return there(
        {
            "on": text(row, "status") in (None, "on"),
            "off_at": instant_text(instant(number(row, "off_at"))),
            "on_at": instant_text(instant(number(row, "on_at"))),
        }
    )
