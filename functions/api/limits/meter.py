"""The meter of registrations a tenant and second, without a request for a tenant of usual size.

Each copy of the function counts by itself. A copy registers some items of a tenant within some seconds free of charge,
so that a tenant of usual size costs no request. Beyond these the copy takes allowances from a timeline that all copies
share: one update for each of them. When the table does not answer, no request is refused.
"""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.errors import Forbidden, QuotaExceeded, Unavailable
from postdate.domain.limits import REGISTERED, WINDOW
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow, Timeline
from postdate.stores.tenants import Tenant

# Also what a copy registers for a tenant in each window without asking.
ALLOWANCE: Final = 250
_REMEMBERED_MAX: Final = 1000


class Meter:
    """`find` finds a tenant as it was some seconds ago at most."""

    def __init__(
        self, *, flow: Flow, clock: Clock, find: Callable[[str], Tenant] = lambda id: Tenant(id=id)
    ) -> None:
        self._flow = flow
        self._clock = clock
        self._find = find
        self._left: OrderedDict[str, tuple[datetime, int]] = OrderedDict()

    def take(self, tenant: str, items: int) -> None:
        """Raises QuotaExceeded when the tenant may not register so many now. Those that are refused are not counted."""
        known = self._find(tenant)
        if (why := known.tenancy.suspended_because) is not None:
            raise Forbidden(f"the tenant is suspended, so registrations are refused: {why}")
        now = self._clock.now()
        since, left = self._left.get(tenant, (now, ALLOWANCE))
        if now >= since + WINDOW:
            since, left = now, ALLOWANCE
        # The usual request is within the free allowance and asks nothing.
        while left < items:
            if not self._allowed(tenant, now, known.quota):
                raise QuotaExceeded(
                    f"the quota of {known.quota} tasks and payments a second is used up",
                    quota=REGISTERED,
                    most=known.quota * int(WINDOW.total_seconds()),
                    window_seconds=int(WINDOW.total_seconds()),
                )
            left += ALLOWANCE
        self._left[tenant] = (since, left - items)
        self._left.move_to_end(tenant)
        if len(self._left) > _REMEMBERED_MAX:
            self._left.popitem(last=False)

    def used(self, tenant: str) -> int:
        """The registrations that count against the quota now: those of all copies that took allowances, and what this
        copy has registered of its own."""
        now, known = self._clock.now(), self._find(tenant)
        try:
            ends = self._flow.ends(tenant, [REGISTERED], of=Timeline.QUOTA).get(REGISTERED, now)
        except Unavailable:
            ends = now
        since, left = self._left.get(tenant, (now, ALLOWANCE))
        own = max(0, ALLOWANCE - left) if now < since + WINDOW else 0
        shared = round(max(ends - now, timedelta(0)).total_seconds() * known.quota)
        return min(max(shared, own), known.quota * int(WINDOW.total_seconds()))

    def _allowed(self, tenant: str, now: datetime, a_second: int) -> bool:
        """Takes one more allowance from the tenant's timeline; False if its window is full. True if the table does not
        answer."""
        width = timedelta(seconds=ALLOWANCE / a_second)
        try:
            begins = self._flow.take_by(
                tenant, REGISTERED, width, now=now, latest=now + WINDOW, of=Timeline.QUOTA
            )
        except Unavailable:
            return True
        return begins is not None
