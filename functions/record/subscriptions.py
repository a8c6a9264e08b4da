"""Changes of the table `subscriptions` as events. Each version is told, and the row names its author."""

from typing import Any

from functions.record.changes import Change
from functions.record.noted import there
from postdate.domain.event import Actor, Event, Subject, differences
from postdate.domain.event_body import instant_text
from postdate.domain.subscription import State, Subscription
from postdate.stores.subscriptions_dynamo import subscription_of


def event_of(change: Change) -> Event | None:
    """The event of a changed subscription; None for a change that makes no version."""
    after = subscription_of(change.after)
    before = subscription_of(change.before) if change.before else None
    if before is not None and before.version == after.version:
        return None
    now = _fields(after)
    data: dict[str, Any] = {"after": now}
    if before is not None:
        data["before"] = differences(_fields(before), now)
    if before is not None and before.secrets[:1] != after.secrets[:1]:
        data["rotated"] = True
    return Event(
        subject=Subject(tenant=after.tenant, kind="subscription", id=after.id),
        type=f"subscription.{_named(before, after)}",
        sequence=after.version,
        occurred_at=after.changed_at if before is not None else after.created_at,
        actor=Actor.parse(after.by),
        data=data,
    )


def _named(before: Subscription | None, after: Subscription) -> str:
    if before is None:
        return "created"
    return "ended" if after.state is State.ENDED else "changed"


def _fields(given: Subscription) -> dict[str, Any]:
    wanted = {
        "account_id": given.filter.account_id,
        "tag": given.filter.tag,
        "metadata": dict(given.filter.metadata) or None,
    }
    return there(
        {
            "status": given.state.value,
            "target": {
                "type": given.destination.type,
                "address": given.destination.address.partition("?")[0],
            },
            "types": list(given.types),
            "filter": there(wanted) or None,
            "ordered": given.ordered,
            "description": given.description,
            "reason": given.reason,
            "paused_at": instant_text(given.paused_at),
        }
    )
