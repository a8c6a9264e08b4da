"""The body of an event: in answers of the API, and as the body of a delivery."""

import json
from datetime import datetime
from typing import Any

from postdate.domain.event import Event


def body_of(event: Event) -> dict[str, Any]:
    subject: dict[str, Any] = {"kind": event.subject.kind, "id": event.subject.id}
    if event.accounts:
        subject["account_ids"] = list(event.accounts)
    body: dict[str, Any] = {
        "event_id": event.id,
        "type": event.type,
        "sequence": event.sequence,
        "occurred_at": instant_text(event.occurred_at),
        "recorded_at": instant_text(event.recorded_at),
        "actor": {"type": event.actor.type, "id": event.actor.id},
        "subject": subject,
        "data": dict(event.data),
    }
    if event.reconstructed:
        body["reconstructed"] = True
    return body


def text_of(event: Event) -> str:
    return json.dumps(body_of(event), separators=(",", ":"), ensure_ascii=False)


def instant_text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
