"""The calendar of all tenants: the items due in each minute to come, counted from their events.

An event changes the counts if it registers, moves or withdraws an item, or changes its amount, and if the minute is
still to come. Attempts and outcomes change nothing: an item counts for the minute that it was planned for.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from postdate.domain import instants, payment, task
from postdate.domain.event import Event
from postdate.domain.task import End

_WITHDRAWN: Final = frozenset(
    {
        payment.State.CANCELLED.value,
        *(state.value for state in task.State if state.end is End.WITHDRAWN),
    }
)
# The field of an event that tells the planned instant, by the kind of its subject.
_PLANNED: Final = {"payment": "scheduled_time", "task": "planned_at", "run": "planned_at"}


@dataclass(frozen=True, kw_only=True, slots=True)
class DueCount:
    """A number of items. In a change of counts the numbers may be negative."""

    # One-time tasks and runs that are due.
    tasks: int = 0
    # Payments that are due.
    payments: int = 0
    # The sum of these payments.
    amount: int = 0

    def __add__(self, other: "DueCount") -> "DueCount":
        return DueCount(
            tasks=self.tasks + other.tasks,
            payments=self.payments + other.payments,
            amount=self.amount + other.amount,
        )

    def __neg__(self) -> "DueCount":
        return DueCount(tasks=-self.tasks, payments=-self.payments, amount=-self.amount)


def changes(events: Iterable[Event], *, now: datetime) -> dict[int, DueCount]:
    """The numbers that these events add to the minutes after the current one. Each event may be given once."""
    found = defaultdict[int, DueCount](DueCount)
    for event in events:
        after = event.data.get("after")
        # An event made from a history may tell no fields.
        if event.subject.kind not in _PLANNED or after is None or event.reconstructed:
            continue
        # The values before count off. `before` has only the changed ones, so `after` fills up the rest.
        if "before" in event.data:
            _add(found, event, {**after, **event.data["before"]}, -1)
        # A later version without its values before: nobody knows what it replaces.
        elif event.sequence > 1:
            continue
        _add(found, event, after, 1)
    current = instants.minute_of(now)
    return {minute: due for minute, due in found.items() if due != DueCount() and minute > current}


def changes_by_tier(
    events: Iterable[Event], *, now: datetime, tier_of: Callable[[str], str]
) -> dict[str, dict[int, DueCount]]:
    """Makes the numbers of `changes` for each tier. Only the tier of a tenant whose numbers change is asked for."""
    by_tenant = defaultdict[str, list[Event]](list)
    for event in events:
        by_tenant[event.subject.tenant].append(event)
    by_tier = defaultdict[str, defaultdict[int, DueCount]](lambda: defaultdict(DueCount))
    for tenant, some in by_tenant.items():
        if found := changes(some, now=now):
            counts = by_tier[tier_of(tenant)]
            for minute, due in found.items():
                counts[minute] += due
    return {tier: dict(counts) for tier, counts in by_tier.items()}


def _add(found: dict[int, DueCount], event: Event, fields: Mapping[str, Any], sign: int) -> None:
    planned = fields.get(_PLANNED[event.subject.kind])
    # A withdrawn item has no minute any more. The values before have taken it off.
    if planned is None or fields["status"] in _WITHDRAWN:
        return
    is_payment = event.subject.kind == "payment"
    one = DueCount(payments=1, amount=fields["amount"]) if is_payment else DueCount(tasks=1)
    found[instants.minute_of(datetime.fromisoformat(planned))] += one if sign > 0 else -one
