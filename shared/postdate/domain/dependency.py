"""The rules of the breaker of a service that the product depends on: a table, S3, STS or AppConfig.

Failures in a row, with nothing that got through in between, open it. Then calls fail at once, without a request. When
its time is over one call may try: an answer closes the breaker, a failure opens it again for twice the time, up to a
maximum. Refusals are answers: a condition that does not hold shows that the service works.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

# 2 to this power exceeds every `longest`. A larger power would only be a huge number.
_EXPONENT_MAX: Final = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Patience:
    """The limits of a breaker."""

    # The failures in a row that open the breaker.
    failures: int
    # The time for which it is open after the first opening.
    first: timedelta
    # The longest time for which it is open.
    longest: timedelta


# A throttled table recovers within seconds, and payments wait for it.
OF_TABLES: Final = Patience(failures=10, first=timedelta(seconds=1), longest=timedelta(seconds=15))
OF_OTHERS: Final = Patience(failures=3, first=timedelta(seconds=5), longest=timedelta(minutes=2))


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """One process's view of one dependency."""

    # Failures since the last answer.
    failures: int = 0
    # The reason of the newest failure; empty without one.
    error: str = ""
    # Openings in a row; 0 while the breaker is closed.
    opened: int = 0
    # The instant of the first of them; None while it is closed.
    since: datetime | None = None
    # The instant from which one call may try; None while it is closed.
    open_until: datetime | None = None
    # True while a call is out that tries whether the dependency answers again.
    tries: bool = False

    def is_open(self, now: datetime) -> bool:
        return self.open_until is not None and now < self.open_until


CLOSED: Final = Health()


def failed(health: Health, *, now: datetime, error: str, patience: Patience) -> Health:
    """Counts a failure. The failure of a call that began before the breaker opened changes nothing."""
    if health.is_open(now) and not health.tries:
        return health
    counted = replace(health, failures=health.failures + 1, error=error)
    if health.open_until is None and counted.failures < patience.failures:
        return counted
    pause = min(patience.first * (1 << min(health.opened, _EXPONENT_MAX)), patience.longest)
    since = health.since or now
    return replace(counted, opened=health.opened + 1, since=since, open_until=now + pause, tries=False)


def answered(health: Health) -> Health:
    return CLOSED


def admitted(health: Health, *, now: datetime, patience: Patience) -> tuple[bool, Health]:
    """True if a call may go out. While the breaker is open none may. After that one may try; until it is answered the
    others wait as long as the breaker was open at first."""
    if health.open_until is None:
        return True, health
    if now < health.open_until:
        return False, health
    return True, replace(health, open_until=now + patience.first, tries=True)
