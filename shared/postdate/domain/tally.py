"""Results of one minute's items, counted when the sweep closes the minute: a minute after its end.

A tally is a sum. Tallies of shard groups, tenants and kinds add up.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from postdate.domain import instants, payment, task
from postdate.domain.item import kind_of
from postdate.domain.payment import Payment
from postdate.domain.task import OPERATION_KIND, End, Task

TASKS: Final = "tasks"
PAYMENTS: Final = "payments"
KINDS: Final = (TASKS, PAYMENTS)
_TASKS_BY_END: Final = {end: {state.value for state in task.State if state.end is end} for end in End}
_DONE: Final = frozenset({*_TASKS_BY_END[End.DONE], payment.State.COMPLETED.value})
_FAILED: Final = frozenset(
    {*_TASKS_BY_END[End.FAILED], *_TASKS_BY_END[End.MISSED], payment.State.FAILED.value}
)
# Withdrawn items do not count.
_NOT_DUE: Final = frozenset(_TASKS_BY_END[End.WITHDRAWN])
# States that an attempt led to although the item has not ended.
_WAITS_AGAIN: Final = frozenset({task.State.RETRYING.value, payment.State.EXECUTING.value})
# Each bucket of lateness reaches a tenth further than the one before it, so a percentile is a tenth too high at most.
_GROWTH: Final = 1.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Fared:
    """The facts about one item that a tally counts."""

    # The name of the state.
    state: str
    # The instant of the request.
    planned_at: datetime
    # The number of attempts so far.
    attempts: int = 0
    # The beginning of a task's first attempt, or the completion of a payment; None before.
    begun_at: datetime | None = None
    # A payment's amount; 0 for a task.
    amount: int = 0

    @classmethod
    def of_task(cls, item: Task) -> "Fared":
        begun_at = next((line.at for line in item.history if line.to is task.State.RUNNING), None)
        return cls(
            state=item.state.value, planned_at=item.planned_at, attempts=item.attempts, begun_at=begun_at
        )

    @classmethod
    def of_payment(cls, item: Payment) -> "Fared":
        completed = item.state is payment.State.COMPLETED
        return cls(
            state=item.state.value,
            planned_at=item.planned_at,
            attempts=item.attempts,
            begun_at=item.finished_at if completed else None,
            amount=item.amount,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class MinuteTally:
    """The counts of one minute, one tenant and one kind of item."""

    # Items planned for the minute that were neither cancelled nor skipped.
    due: int = 0
    # The delivered tasks and completed payments among them.
    done: int = 0
    # The dead, expired and missed tasks, and the failed payments among them.
    failed: int = 0
    # The items among them that needed a second attempt.
    retried: int = 0
    # The sum of the payments that are due.
    amount: int = 0
    # The number of items by bucket of lateness.
    lateness: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: "MinuteTally") -> "MinuteTally":
        return MinuteTally(
            due=self.due + other.due,
            done=self.done + other.done,
            failed=self.failed + other.failed,
            retried=self.retried + other.retried,
            amount=self.amount + other.amount,
            lateness=Counter(self.lateness) + Counter(other.lateness),
        )

    def lateness_ms(self, share: float) -> int | None:
        """The lateness that this share of the items did not exceed; None if no item has begun."""
        wanted = math.ceil(share * sum(self.lateness.values()))
        for bucket in sorted(self.lateness):
            wanted -= self.lateness[bucket]
            if wanted <= 0:
                return int(_GROWTH**bucket)
        return None


def tallied(minute: int, found: Iterable[tuple[str, str, Fared]]) -> dict[str, dict[str, MinuteTally]]:
    """The tally of each kind by tenant, of items given as tenant, id and how they fared. Items that were planned for
    another minute are not counted, nor are steps of operations."""
    sums: dict[str, dict[str, MinuteTally]] = {}
    for tenant, id, fared in found:
        if instants.minute_of(fared.planned_at) != minute or kind_of(id) == OPERATION_KIND:
            continue
        kind = PAYMENTS if kind_of(id) == payment.KIND else TASKS
        if fared.state not in _NOT_DUE:
            of_tenant = sums.setdefault(tenant, {})
            of_tenant[kind] = of_tenant.get(kind, MinuteTally()) + _one(fared)
    return sums


def _one(fared: Fared) -> MinuteTally:
    lateness = {} if fared.begun_at is None else {bucket_of(fared.begun_at, fared.planned_at): 1}
    return MinuteTally(
        due=1,
        done=int(fared.state in _DONE),
        failed=int(fared.state in _FAILED),
        retried=int(fared.attempts > 1 or (fared.state in _WAITS_AGAIN and fared.attempts > 0)),
        amount=fared.amount,
        lateness=lateness,
    )


def bucket_of(begun_at: datetime, planned_at: datetime) -> int:
    late_ms = (begun_at - planned_at).total_seconds() * 1000
    return 0 if late_ms <= 1 else math.ceil(math.log(late_ms, _GROWTH))
