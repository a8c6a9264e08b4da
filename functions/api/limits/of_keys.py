"""Requests of API keys that have a limit, counted without a request to the database for each of them.

Each copy of the function takes stretches of a timeline that all copies share: one update for some twentieth of what a
window allows. A stretch that a copy has taken and not used is void after a window. So all copies together admit at most
what a window allows, and one stretch more for each copy. When the table does not answer, no request is refused. Keys
without a limit cost nothing.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from postdate.domain.errors import RateLimited, Unavailable
from postdate.domain.limits import WINDOW
from postdate.runtime.clock import Clock
from postdate.stores.api_key import ApiKey
from postdate.stores.flow import Flow, Timeline

_STRETCHES_A_WINDOW: Final = 20
_REMEMBERED_MAX: Final = 1000
# Keys of operators belong to no tenant. No tenant has this name.
_OPERATORS: Final = "@operators"
_POLICY: Final = "requests"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """The rest of a key's limit of requests."""

    # The requests of a whole window.
    most: int
    # The requests that are left now.
    left: int
    # The seconds until all of the limit may be used again.
    whole_after: int

    def headers(self) -> dict[str, str]:
        """The headers of draft-ietf-httpapi-ratelimit-headers-10."""
        seconds = int(WINDOW.total_seconds())
        return {
            "RateLimit-Policy": f'"{_POLICY}";q={self.most};w={seconds}',
            "RateLimit": f'"{_POLICY}";r={self.left};t={self.whole_after}',
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class _Taken:
    """The stretch of a key's timeline that this copy has taken."""

    # The requests that this copy may still admit.
    left: int
    # The end of the stretch, or of the refusal.
    void_at: datetime
    # The end of the shared timeline when the stretch was taken.
    ends_at: datetime
    # True if the window was full: no request is admitted and the table is not asked until `void_at`.
    refused: bool = False


class KeyMeter:
    """`told` is what the request that is answered now has left of its key's limit; None for a key without one."""

    def __init__(self, *, flow: Flow, clock: Clock) -> None:
        self._flow = flow
        self._clock = clock
        self._taken: OrderedDict[str, _Taken] = OrderedDict()
        self.told: Rate | None = None

    def take(self, key: ApiKey) -> None:
        """Raises RateLimited."""
        a_second = key.requests_a_second
        if a_second is None:
            return
        now, most = self._clock.now(), a_second * int(WINDOW.total_seconds())
        taken = self._taken.get(key.id)
        if taken is None or taken.void_at <= now or (taken.left == 0 and not taken.refused):
            taken = self._more(key, now, a_second, max(1, most // _STRETCHES_A_WINDOW))
        if not taken.refused:
            taken = replace(taken, left=taken.left - 1)
        self._keep(key.id, taken)
        self.told = _rate(taken, now, a_second, most)
        if taken.refused:
            raise RateLimited(
                f"this key may send {a_second} requests a second",
                retry_seconds=max(1, ceil((taken.void_at - now).total_seconds())),
            )

    def _keep(self, id: str, taken: _Taken) -> None:
        self._taken[id] = taken
        self._taken.move_to_end(id)
        if len(self._taken) > _REMEMBERED_MAX:
            self._taken.popitem(last=False)

    def _more(self, key: ApiKey, now: datetime, a_second: int, count: int) -> _Taken:
        """Takes another stretch of the shared timeline for this copy. If the window is full, refuses until a stretch is
        free again. If the table cannot be read, admits a stretch as if it were taken."""
        width = timedelta(seconds=count / a_second)
        try:
            begins = self._flow.take_by(
                key.tenant or _OPERATORS,
                key.id,
                width,
                now=now,
                latest=now + WINDOW - width,
                of=Timeline.REQUESTS,
            )
        except Unavailable:
            return _Taken(left=count, void_at=now + WINDOW, ends_at=now)
        if begins is None:
            return _Taken(left=0, void_at=now + width, ends_at=now + WINDOW, refused=True)
        return _Taken(left=count, void_at=now + WINDOW, ends_at=begins + width)


def _rate(taken: _Taken, now: datetime, a_second: int, most: int) -> Rate:
    ahead = max(0.0, (taken.ends_at - now).total_seconds())
    left = taken.left + int((WINDOW.total_seconds() - ahead) * a_second)
    return Rate(most=most, left=0 if taken.refused else max(0, min(most, left)), whole_after=ceil(ahead))
