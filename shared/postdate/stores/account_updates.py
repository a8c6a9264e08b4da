"""Updates of an account's row: the request for each change, with its condition.

Every update counts the version. A change that is told as an event carries its note.
"""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.account import Account, Limits, Status
from postdate.domain.posting import Total
from postdate.stores import notes as noted
from postdate.stores.account_row import LIMITS, key, limit_values
from postdate.stores.attributes import AttributeMap
from postdate.stores.notes import COUNT, NOTE, Note

_STATUS_EVENTS: Final = {
    Status.ACTIVE: "account.unfrozen",
    Status.FROZEN: "account.frozen",
    Status.CLOSED: "account.closed",
}
_CLOSED: Final = {"S": Status.CLOSED.value}
# No reader was shown this place or a later one.
_UNREAD: Final = "(attribute_not_exists(#journal) OR #journal < :place)"
# The number of changes that were told as events, see `notes`.
_COUNTED: Final = "#events = if_not_exists(#events, :none) + :noted"
_NAME: Final = re.compile(r"#([a-z_]+)")


def update_of(
    table: str,
    tenant: str,
    total: Total,
    at: datetime,
    *,
    place: str | None = None,
    notes: Sequence[Note] = (),
) -> dict[str, Any]:
    """The update that changes a balance. It adds differences, so nothing is read before.

    Two of its conditions: each part has at least what the transaction takes from it, and what the same transaction adds
    does not count; nobody has read the account's journal up to `place`, the first place that the transaction writes
    there. An update without `notes` removes the old note; otherwise the stream would show it again with every payment.
    """
    values = {
        ":at": instants.milliseconds(at),
        ":one": 1,
        ":available": total.available,
        ":reserved": total.reserved,
    }
    conditions = ["attribute_exists(#account)"]
    # No balance falls below 0.
    for part, taken in (("available", total.available_taken), ("reserved", total.reserved_taken)):
        if taken:
            values[f":{part}_needed"] = taken
            conditions.append(f"#{part} >= :{part}_needed")
    # An adjustment to the sum of the journal counts for the version that it was computed from.
    if total.at_version is not None:
        values[":was"] = total.at_version
        conditions.append("#version = :was")
    typed_values: AttributeMap = {name: {"N": str(value)} for name, value in values.items()}
    names = {f"#{name}": name for name in ("account", "available", "reserved", "version", "updated")}
    if total.needs_open and not total.needs_active:
        names["#status"] = "status"
        typed_values[":closed"] = _CLOSED
        conditions.append("#status <> :closed")
    if total.needs_active:
        names["#status"] = "status"
        typed_values[":active"] = {"S": Status.ACTIVE.value}
        conditions.append("#status = :active")
    # A reader of the journal was promised that no row comes before the place that it read to.
    if place is not None:
        names["#journal"] = "journal"
        typed_values[":place"] = {"S": place}
        conditions.append(_UNREAD)
    # The stream shows the note with every later change, so a change without one removes it.
    names["#note"], told = NOTE, " REMOVE #note"
    if notes:
        names["#events"], told = COUNT, f", {_COUNTED}, #note = :note"
        typed_values |= _notes(notes)
    return {
        "TableName": table,
        "Key": {"account": {"S": key(tenant, total.account)}},
        "UpdateExpression": f"SET #updated = :at{told} ADD #available :available, #reserved :reserved, #version :one",
        "ConditionExpression": " AND ".join(conditions),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": typed_values,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def reading_of(table: str, tenant: str, id: str, place: str) -> dict[str, Any]:
    """The update that notes how far a journal was read. The condition: no later place is noted yet. The version of the
    account stays."""
    return {
        "TableName": table,
        "Key": {"account": {"S": key(tenant, id)}},
        "UpdateExpression": "SET #journal = :place",
        "ConditionExpression": f"attribute_exists(#account) AND {_UNREAD}",
        "ExpressionAttributeNames": {"#account": "account", "#journal": "journal"},
        "ExpressionAttributeValues": {":place": {"S": place}},
    }


def status_update_of(
    table: str, tenant: str, id: str, status: Status, at: datetime, *, version: int | None, by: str = ""
) -> dict[str, Any]:
    """The update of the status. The condition: the account has another status and is not closed."""
    return _update_of(
        table,
        key(tenant, id),
        sets={"status": {"S": status.value}},
        conditions=["#status <> :status", "#status <> :closed"],
        values={":closed": _CLOSED},
        version=version,
        note=Note(type=_STATUS_EVENTS[status], at=at, by=by),
    )


def closing_of(
    table: str, tenant: str, id: str, at: datetime, *, version: int | None, by: str = ""
) -> dict[str, Any]:
    """The update that closes an account. The condition: the account is empty and not closed. A payment that holds or
    brings money either precedes this write, which is then refused, or follows it and is refused itself."""
    return _update_of(
        table,
        key(tenant, id),
        sets={"status": _CLOSED},
        conditions=["#status <> :status", "#available = :none", "#reserved = :none"],
        values={":none": {"N": "0"}},
        version=version,
        note=Note(type=_STATUS_EVENTS[Status.CLOSED], at=at, by=by),
    )


def limits_update_of(
    table: str, account: Account, limits: Limits, at: datetime, *, version: int | None, by: str = ""
) -> dict[str, Any]:
    """The update of the limits. The condition: the account has the limits of `account` and is not closed. Payments may
    change its balance meanwhile."""
    known, wanted = limit_values(account.limits), limit_values(limits)
    # Payments change the row all the time, so the limits are compared, and the version only if a request
    # names one.
    kept = [f"#{name} = :was_{name}" for name in known]
    conditions = [*kept, *(f"attribute_not_exists(#{name})" for name in LIMITS if name not in known)]
    return _update_of(
        table,
        key(account.tenant, account.id),
        sets=wanted,
        removes=[name for name in known if name not in wanted],
        conditions=[*conditions, "#status <> :closed"],
        values={":closed": _CLOSED} | {f":was_{name}": value for name, value in known.items()},
        version=version,
        note=Note(type="account.limits_changed", at=at, by=by),
    )


def _update_of(
    table: str,
    account: str,
    *,
    sets: AttributeMap,
    conditions: Sequence[str],
    values: AttributeMap,
    note: Note,
    removes: Sequence[str] = (),
    version: int | None = None,
) -> dict[str, Any]:
    """An update of an account that exists, at `version` if one is given. Each `:name` of `sets` is a new value."""
    # Without it the update would make a row for an account that does not exist.
    conditions = ["attribute_exists(#account)", *conditions]
    values = values | {f":{name}": value for name, value in sets.items()}
    values |= {":at": {"N": str(instants.milliseconds(note.at))}, ":one": {"N": "1"}}
    values |= _notes([note])
    if version is not None:
        conditions.append("#version = :version")
        values[":version"] = {"N": str(version)}
    written = ", ".join(
        ["#updated = :at", _COUNTED, "#note = :note", *(f"#{name} = :{name}" for name in sets)]
    )
    removed = "".join(f"{', ' if index else ' REMOVE '}#{name}" for index, name in enumerate(removes))
    update = f"SET {written}{removed} ADD #version :one"
    condition = " AND ".join(conditions)
    return {
        "TableName": table,
        "Key": {"account": {"S": account}},
        "UpdateExpression": update,
        "ConditionExpression": condition,
        # DynamoDB refuses names that no expression uses.
        "ExpressionAttributeNames": {
            f"#{name}": name for name in sorted(set(_NAME.findall(f"{update} {condition}")))
        },
        "ExpressionAttributeValues": values,
    }


def _notes(notes: Sequence[Note]) -> AttributeMap:
    return {
        ":noted": {"N": str(len(notes))},
        ":note": {"S": noted.text_of(notes)},
        ":none": {"N": "0"},
    }
