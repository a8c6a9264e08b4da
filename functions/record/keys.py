"""Changes of the table `keys` as events: never a secret or its hash. Uses of a key are no events."""

from typing import Any

from functions.record.changes import Change
from functions.record.noted import events_of, number, text, texts, there
from postdate.domain.event import SERVICE, Event, Subject
from postdate.domain.event_body import instant_text
from postdate.stores.attributes import AttributeMap, instant


def event_of(change: Change) -> list[Event]:
    row = change.after
    return events_of(
        change,
        Subject(tenant=text(row, "tenant") or SERVICE, kind="key", id=row["key_id"]["S"]),
        before=_fields(change.before) if change.before else None,
        after=_fields(row),
    )


def _fields(row: AttributeMap) -> dict[str, Any]:
    expires = number(row, "expires_at")
    return there(
        {
            "name": text(row, "name"),
            "scopes": texts(row, "scopes"),
            "account_ids": texts(row, "accounts"),
            "amount_max": number(row, "amount_max"),
            "amount_per_day_max": number(row, "amount_per_day_max"),
            "networks": texts(row, "networks"),
            "actions": texts(row, "actions"),
            "read_only": row["read_only"]["BOOL"] if "read_only" in row else None,
            "requests_a_second": number(row, "requests_a_second"),
            "expires_at": None if expires is None else instant_text(instant(expires * 1000)),
            "replaced_secret_until": instant_text(instant(number(row, "before_until"))),
            "revoked_at": instant_text(instant(number(row, "revoked_at"))),
        }
    )
