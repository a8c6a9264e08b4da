"""Changes of the table `operations` as events: its first start, and its end. A stop may be resumed and is no end."""

from typing import Any, Final

from functions.record.changes import Change
from functions.record.noted import there
from postdate.domain.event import Actor, Event, Subject
from postdate.domain.operation import Operation, State
from postdate.stores.operation_rows import HEAD, operation_of

_ENDS: Final = frozenset({State.DONE, State.ABORTED})


def event_of(change: Change) -> Event | None:
    """The event of an operation that started or ended; None for its progress, for pages of items, and for the seats of
    a tenant."""
    if change.keys["place"]["S"] != HEAD:
        return None
    after = operation_of(change.after)
    before = operation_of(change.before) if change.before else None
    if after.state in _ENDS and (before is None or before.state not in _ENDS):
        return _event(after, "ended", 2)
    if after.started_at is not None and (before is None or before.started_at is None):
        return _event(after, "started", 1)
    return None


def _event(given: Operation, name: str, sequence: int) -> Event:
    """An operation starts and ends once, so the two events have fixed sequences."""
    request = given.request
    after: dict[str, Any] = {
        "status": given.state.value,
        "action": request.action.value,
        "kind": request.kind.value,
        "reason": request.reason,
        "eligible": given.eligible,
        "amount": given.amount,
        "counts": {outcome.value: count for outcome, count in given.counts.items()},
        "why": given.why,
    }
    return Event(
        subject=Subject(tenant=given.tenant, kind="operation", id=given.id),
        type=f"operation.{name}",
        sequence=sequence,
        occurred_at=given.changed_at,
        actor=Actor(type="key", id=request.actor)
        if name == "started"
        else Actor(type="operation", id=given.id),
        data={"after": there(after)},
    )
