"""The shape of each answer about accounts."""

from typing import Final

from functions.api.reference.shapes import (
    COUNT,
    INSTANT,
    TEXT,
    Schema,
    every,
    list_of,
    or_null,
    ref,
    told,
)

ANSWERS: Final[dict[str, Schema]] = {
    "Audit": every(
        ok={"type": "boolean"},
        checks=list_of(ref("AuditCheck")),
        accounts=told(COUNT, "How many were looked at."),
        moving=told(list_of(TEXT), "Accounts that changed each time they were looked at."),
        unread=told(list_of(TEXT), "Accounts with more than there was time to read."),
        goes_on_after=or_null(TEXT),
    ),
    "AuditCheck": every(name=TEXT, ok={"type": "boolean"}, observed={}, expected={}, checked_at=INSTANT),
}
