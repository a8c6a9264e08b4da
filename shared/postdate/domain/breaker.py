"""When a destination is left alone: after ten failures in a row that say it is down, for half a minute, then for twice
as long each time, until one call that is sent to try it gets through.

    CLOSED     calls go out
    OPEN       none does, until an instant
    HALF_OPEN  that instant has come, and one may try
    PROBING    one is trying; if nothing is heard of it, another may
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from postdate.domain import instants

FAILURES_TO_OPEN: Final = 10
FAILURES_WITHIN: Final = timedelta(minutes=1)
OPEN_FIRST: Final = timedelta(seconds=30)
OPEN_MAX: Final = timedelta(minutes=15)
ASK_AGAIN: Final = timedelta(seconds=5)
_EXPONENT_MAX: Final = 16


class State(Enum):
    CLOSED = auto()
    OPEN = auto()
    HALF_OPEN = auto()
    PROBING = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Breaker:
    """One tenant's calls to one destination. `failures` in a row since `since`; `opened` so many times in a row."""

    failures: int = 0
    since: datetime | None = None
    opened: int = 0
    open_until: datetime | None = None
    probe_until: datetime | None = None
    version: int = 0

    def state(self, now: datetime) -> State:
        if self.open_until is None:
            return State.CLOSED
        if now < self.open_until:
            return State.OPEN
        if self.probe_until is not None and now < self.probe_until:
            return State.PROBING
        return State.HALF_OPEN

    def ask_again_at(self, now: datetime, draw: float) -> datetime:
        """For a call that may not go out now, at a random point behind the instant, so that not all come at once."""
        if self.state(now) is State.OPEN and self.open_until is not None:
            return instants.whole(self.open_until + draw * _open_for(self.opened))
        return instants.whole(now + (0.2 + draw) * ASK_AGAIN)


def failed(breaker: Breaker, count: int, *, now: datetime) -> Breaker:
    """So many failures in a row. What was sent before it opened says nothing new."""
    match breaker.state(now):
        case State.OPEN | State.HALF_OPEN:
            return breaker
        case State.PROBING:
            return _opened(breaker, now)
    fresh = breaker.since is None or now > breaker.since + FAILURES_WITHIN
    failures = count if fresh else breaker.failures + count
    counted = _next(breaker, failures=failures, since=now if fresh else breaker.since)
    return (
        _opened(replace(counted, version=breaker.version), now) if failures >= FAILURES_TO_OPEN else counted
    )


def answered(breaker: Breaker) -> Breaker:
    """The destination is alive; unchanged when nothing was held against it."""
    if breaker.open_until is None and not breaker.failures:
        return breaker
    return Breaker(version=breaker.version + 1)


def probe(breaker: Breaker, *, now: datetime, until: datetime) -> Breaker | None:
    """The right to try; None when somebody else has it or it is not needed."""
    if breaker.state(now) is not State.HALF_OPEN:
        return None
    return _next(breaker, probe_until=until)


def _opened(breaker: Breaker, now: datetime) -> Breaker:
    opened = breaker.opened + 1
    return _next(breaker, opened=opened, open_until=now + _open_for(opened), probe_until=None)


def _open_for(opened: int) -> timedelta:
    return min(OPEN_FIRST * (1 << min(opened - 1, _EXPONENT_MAX)), OPEN_MAX)


def _next(breaker: Breaker, **changes: object) -> Breaker:
    return replace(breaker, version=breaker.version + 1, **changes)  # type: ignore[arg-type]
