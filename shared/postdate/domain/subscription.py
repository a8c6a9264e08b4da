"""A subscription: the events that a tenant wants to be told, and the destination that is told.

A delivery of an event is a task, under an id that follows from the event and the subscription. So an event that is
recorded twice, or replayed, makes no second task. Deliveries are no subjects of events: they would cause themselves.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from postdate.domain import task_requests
from postdate.domain.errors import InvalidState
from postdate.domain.event import Event
from postdate.domain.recurs import Recurs
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan
from postdate.domain.task import DELIVERY_KIND, Destination, Payload, Task, Template

TYPES_MAX: Final = 50
# The row of an ended subscription outlives its deliveries.
ENDED_KEPT: Final = timedelta(days=100)
# 410 Gone: a receiver that answers so wants no further delivery.
ENDS_STATUS: Final = 410
# The clocks of two recorders differ by less.
_CLOCKS_DIFFER: Final = timedelta(seconds=30)


class State(StrEnum):
    ACTIVE = "ACTIVE"
    PAUSED = "PAUSED"
    ENDED = "ENDED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Filter:
    """The properties that an event must have. A property that is None, or an empty mapping, admits every event."""

    # One of the event's accounts.
    account_id: str | None = None
    # One of the tags of the event's subject.
    tag: str | None = None
    # Pairs of the metadata of the event's subject, all of them.
    metadata: tuple[tuple[str, str], ...] = ()

    def admits(self, event: Event) -> bool:
        after: dict[str, Any] = event.data.get("after") or {}
        metadata = after.get("metadata") or {}
        return (
            (self.account_id is None or self.account_id in event.accounts)
            and (self.tag is None or self.tag in (after.get("tags") or ()))
            and all(metadata.get(name) == value for name, value in self.metadata)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Subscription:
    # Chosen at random when it is made.
    id: str
    # The owner, from the key of the request.
    tenant: str
    # The destination of the deliveries. A change applies to events that are recorded later.
    destination: Destination
    # The wanted types: `payment.completed`, `payment.*` or `*`.
    types: tuple[str, ...]
    # The properties of the wanted events.
    filter: Filter = field(default_factory=Filter)
    # True if deliveries of one subject follow each other in the order of its events.
    ordered: bool = True
    # The owner's words; None if the request gave none.
    description: str | None = None
    # An ENDED subscription stays so.
    state: State = State.ACTIVE
    # The reason for the end; None before.
    reason: str | None = None
    # The sealed secrets that sign its deliveries, the newest first: two while one replaces the other.
    secrets: tuple[str, ...] = field(default=(), repr=False)
    # The instant from which the second secret signs no more; None for no second secret.
    secrets_until: datetime | None = None
    # 1 when it is made, one more with each change.
    version: int = 1
    # The instant at which it was made.
    created_at: datetime
    # The instant of the newest change.
    changed_at: datetime
    # The instant of the pause; None unless it is PAUSED.
    paused_at: datetime | None = None
    # The begin of a pause whose events are not all delivered yet; None otherwise.
    missed_since: datetime | None = None
    # The author of the newest version, as `<type>:<id>`.
    by: str = field(default="", compare=False)

    def wants(self, event: Event) -> bool:
        return self.names(event.type) and self.filter.admits(event)

    def names(self, type: str) -> bool:
        kind = type.partition(".")[0]
        return any(each in ("*", type, f"{kind}.*") for each in self.types)

    def is_told(self, event: Event) -> bool:
        """True if a recorded event gets its delivery now; False if the replay after a pause makes it.

        An event that was recorded before the pause may reach this question during the pause: its worker was slow, or
        died. The replay would not find it, so its delivery is made, and waits for the end of the pause."""
        if self.paused_at is None or event.recorded_at is None:
            return self.state is State.ACTIVE
        return event.recorded_at < self.paused_at - _CLOCKS_DIFFER

    @property
    def replayed_since(self) -> datetime | None:
        """The begin of the replay after a pause; None if no replay is needed. The replay has each event that `is_told`
        leaves to it, also if the recorder of the event and the recorder of its page have different clocks. It has no
        event from before the subscription was made."""
        if self.missed_since is None:
            return None
        return max(self.missed_since - 2 * _CLOCKS_DIFFER, self.created_at)

    def missed(self, event: Event) -> bool:
        """True if the replay after a pause is to deliver this event, and may not have come to it."""
        since, recorded_at = self.replayed_since, event.recorded_at
        return since is not None and recorded_at is not None and recorded_at >= since and self.wants(event)

    @property
    def secret_purpose(self) -> str:
        """The purpose that its secrets are sealed for."""
        return f"subscription {self.id}"

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """The secrets that sign now."""
        is_over = self.secrets_until is not None and now >= self.secrets_until
        return self.secrets[:1] if is_over else self.secrets


def changed(subscription: Subscription, *, now: datetime, by: str, **fields: Any) -> Subscription:
    """The next version. Raises InvalidState for a subscription that has ended."""
    if subscription.state is State.ENDED:
        raise InvalidState(State.ENDED, "the subscription has ended")
    return replace(subscription, version=subscription.version + 1, changed_at=now, by=by, **fields)


def ended(subscription: Subscription, *, now: datetime, by: str, reason: str) -> Subscription:
    return changed(subscription, now=now, by=by, state=State.ENDED, reason=reason, paused_at=None)


def delivery_id(event: Event, subscription: Subscription, shards: ShardPlan) -> str:
    """The id of the delivery, the same at each question: its home is the minute of the change."""
    unique = hashlib.sha256(f"{subscription.id} {event.id}".encode()).digest()[:UNIQUE_BYTES]
    return shards.item_id(DELIVERY_KIND, event.occurred_at, unique)


def delivery(
    event: Event,
    subscription: Subscription,
    *,
    before: Event | None,
    shards: ShardPlan,
    now: datetime,
) -> Task:
    """The delivery of an event, due at once. It waits for that of the event `before`, if there is one."""
    ahead = () if before is None else (delivery_id(before, subscription, shards),)
    return task_requests.register(
        id=delivery_id(event, subscription, shards),
        tenant=event.subject.tenant,
        due_at=event.occurred_at,
        now=now,
        template=Template(
            destination=subscription.destination, payload=Payload(key=event.id), depth=event.depth
        ),
        recurs=Recurs(definition=subscription.id, plan=0, at=event.occurred_at, number=0, before=ahead),
        why="recorded",
    )


def wanted_before(event: Event, earlier: Iterable[Event], subscription: Subscription) -> Event | None:
    """The newest of a subject's earlier events that the subscription wants."""
    found = [each for each in earlier if each.sequence < event.sequence and subscription.wants(each)]
    return max(found, key=lambda each: each.sequence, default=None)
