"""Changes of the table `flow` as events: keys that a tenant set, and breakers that opened or closed."""

from typing import Any

from functions.record.changes import Change
from functions.record.noted import events_of, number, there
from postdate.domain.event import Event, Subject
from postdate.domain.event_body import instant_text
from postdate.stores.attributes import AttributeMap, instant
from postdate.stores.flow_table import BREAKER, KEY


def event_of(change: Change) -> list[Event]:
    """Empty for timelines, rooms and counters."""
    tenant, name = change.after["tenant"]["S"], change.after["name"]["S"]
    if name.startswith(KEY):
        kind, id, fields = "flow_key", name.removeprefix(KEY), _key
    elif name.startswith(BREAKER):
        kind, id, fields = "destination", name.removeprefix(BREAKER), _breaker
    else:
        return []
    return events_of(
        change,
        Subject(tenant=tenant, kind=kind, id=id),
        before=fields(change.before) if change.before else None,
        after=fields(change.after),
    )


def _key(row: AttributeMap) -> dict[str, Any]:
    return there(
        {
            "rate": number(row, "rate"),
            "period_seconds": number(row, "period_seconds"),
            "parallelism": number(row, "parallelism"),
            "paused_at": instant_text(instant(number(row, "paused_at"))),
        }
    )


def _breaker(row: AttributeMap) -> dict[str, Any]:
    """The fields of a breaker that events show. `last_error` may repeat a receiver's words, as a run's own events
    do."""
    return there(
        {
            "state": "OPEN" if "open_until" in row else "CLOSED",
            "failures": number(row, "failures"),
            "down_since": instant_text(instant(number(row, "down_since"))),
            "last_error": row["error"]["S"] if "error" in row else None,
        }
    )
