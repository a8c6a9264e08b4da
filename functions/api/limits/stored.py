"""The number of tasks that a tenant has stored, counted in hundreds.

Each copy of the function counts the tasks that it registered by the week in which they are due, and adds them to a
shared row once it has counted 250: one update. A week counts until its tasks are certainly deleted. So the count needs
no write when a row expires. Registrations that a copy has not added yet are missing in the shared row, and are lost if
the copy ends. When the table does not answer, no request is refused.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.errors import QuotaExceeded, Unavailable
from postdate.domain.limits import STORED, STORED_MAX
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow

ADDED_AT_ONCE: Final = 250
# A task is deleted 35 days after its end, and some days may pass until DynamoDB does so.
_COUNTED_FOR: Final = timedelta(days=37)
_WEEK: Final = timedelta(days=7)
_ASKED_AGAIN_AFTER: Final = timedelta(seconds=60)
_REMEMBERED_MAX: Final = 1000


@dataclass(kw_only=True, slots=True)
class _Count:
    """The count of one tenant, as this copy knows it."""

    # The count of all copies, as it was at `read_at`.
    shared: int = 0
    read_at: datetime = instants.EPOCH
    # The instant before which the table is not asked again, after it did not answer.
    asked_from: datetime = instants.EPOCH
    # Tasks that this copy registered and has not added yet, by their weeks.
    own: Counter[int] = field(default_factory=Counter)


class StoredTasks:
    def __init__(self, *, flow: Flow, clock: Clock, most: int = STORED_MAX) -> None:
        self._flow = flow
        self._clock = clock
        self._most = most
        self._counts: OrderedDict[str, _Count] = OrderedDict()

    def refuse_above(self, tenant: str, items: int) -> None:
        """Raises QuotaExceeded if the tenant would have too many tasks with these. A refusal is based on a count that
        was read less than a minute ago."""
        count = self._counts.get(tenant)
        if count is None or count.shared + count.own.total() + items <= self._most:
            return
        if self._clock.now() >= count.read_at + _ASKED_AGAIN_AFTER:
            self._read(tenant, count)
        if count.shared + count.own.total() + items > self._most:
            raise QuotaExceeded(
                f"at most {self._most} tasks are stored",
                quota=STORED,
                most=self._most,
                window_seconds=int(_COUNTED_FOR.total_seconds()),
            )

    def add(self, tenant: str, due: Iterable[datetime]) -> None:
        """Counts tasks that were registered now."""
        count = self._counts.setdefault(tenant, _Count())
        self._counts.move_to_end(tenant)
        count.own.update(_week(at) for at in due)
        if count.own.total() >= ADDED_AT_ONCE and self._clock.now() >= count.asked_from:
            self._share(tenant, count)
        if len(self._counts) > _REMEMBERED_MAX:
            self._counts.popitem(last=False)

    def used(self, tenant: str) -> int:
        """The tasks that the tenant has stored, as far as this copy knows."""
        count = self._counts.get(tenant, _Count())
        self._read(tenant, count)
        return count.shared + count.own.total()

    def _share(self, tenant: str, count: _Count) -> None:
        now = self._clock.now()
        try:
            weeks = self._flow.add(tenant, STORED, count.own, since=_week(now - _COUNTED_FOR), now=now)
        except Unavailable:
            count.asked_from = now + _ASKED_AGAIN_AFTER
            return
        count.shared, count.read_at, count.own = sum(weeks.values()), now, Counter()

    def _read(self, tenant: str, count: _Count) -> None:
        """Reads the count of the tenant again. If the table cannot be read, the last count stays."""
        now = self._clock.now()
        try:
            weeks = self._flow.counts(tenant, STORED, since=_week(now - _COUNTED_FOR))
        except Unavailable:
            return
        count.shared, count.read_at = sum(weeks.values()), now


def _week(at: datetime) -> int:
    return (at - instants.EPOCH) // _WEEK
