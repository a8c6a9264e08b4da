"""How many items a tenant may register in a time, counted where it costs next to nothing.

Each copy of the function counts by itself. What one copy has registered for a tenant within some seconds is free up to
a bound, so that a tenant of usual size costs no request. Beyond it the copy takes allowances from a timeline that all
copies share: one update for each of them. When the table does not answer, nobody is refused.
"""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.errors import QuotaExceeded, Unavailable
from postdate.domain.limits import REGISTERED, REGISTERED_A_SECOND, WINDOW
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow, Timeline

# Also what a copy registers for a tenant in each window without asking.
ALLOWANCE: Final = 250
_REMEMBERED_MAX: Final = 1000


class Meter:
    def __init__(self, *, flow: Flow, clock: Clock, a_second: int = REGISTERED_A_SECOND) -> None:
        self._flow = flow
        self._clock = clock
        self._a_second = a_second
        self._left: OrderedDict[str, tuple[datetime, int]] = OrderedDict()

    def take(self, tenant: str, items: int) -> None:
        """Raises QuotaExceeded when the tenant may not register so many now. Those that are refused are not counted."""
        now = self._clock.now()
        since, left = self._left.get(tenant, (now, ALLOWANCE))
        if now >= since + WINDOW:
            since, left = now, ALLOWANCE
        while left < items:
            if not self._allowed(tenant, now):
                raise QuotaExceeded(
                    f"at most {self._a_second} tasks and payments a second are registered",
                    quota=REGISTERED,
                    most=self._a_second * int(WINDOW.total_seconds()),
                    window_seconds=int(WINDOW.total_seconds()),
                )
            left += ALLOWANCE
        self._left[tenant] = (since, left - items)
        self._left.move_to_end(tenant)
        if len(self._left) > _REMEMBERED_MAX:
            self._left.popitem(last=False)

    def _allowed(self, tenant: str, now: datetime) -> bool:
        width = timedelta(seconds=ALLOWANCE / self._a_second)
        try:
            begins = self._flow.take_by(
                tenant, REGISTERED, width, now=now, latest=now + WINDOW, of=Timeline.QUOTA
            )
        except Unavailable:
            return True
        return begins is not None
