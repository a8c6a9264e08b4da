"""The event that tells a tenant about contradictions that a reconciliation found in its rows."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from postdate.domain.event import Actor, Event, Subject

ACTOR: Final = Actor(type="function", id="reconcile")


def audit_failed(found: Mapping[str, Any], *, run: str, now: datetime) -> Event:
    """Makes one event for each run and tenant. A repeated step makes the same event."""
    return Event(
        subject=Subject(tenant=found["tenant"], kind="audit", id=run),
        type="audit.failed",
        sequence=1,
        occurred_at=now,
        actor=ACTOR,
        data={"after": {"reconciliation_id": run, "checks": list(found["checks"])}},
    )
