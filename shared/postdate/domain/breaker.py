"""The rules of a circuit breaker: the failures that open it, the probes that test the destination, and the rate at
which calls begin again.

Ten failures in a row that say it is down open the breaker. From then on only probes go out, one at a time: every 20
seconds while it has been down for less than ten minutes, after that at intervals of a tenth of the time it has been
down, 15 minutes at most. A probe that gets through closes the breaker. For the next 20 seconds calls begin at a rate
that starts at 10 a second and doubles every two seconds, so that they do not fell the destination again.

    CLOSED      calls go out
    OPEN        none does, until an instant
    HALF_OPEN   that instant has come, and one may try
    PROBING     one is trying; if nothing is heard of it, another may
    RECOVERING  calls go out, each at its place

Beside that it remembers that a destination is slow: for ten minutes after a worker last waited long for it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from postdate.domain import instants

FAILURES_TO_OPEN: Final = 10
# A failure that comes later than this after the first one begins a new count.
FAILURES_WITHIN: Final = timedelta(minutes=1)
PROBE_EVERY: Final = timedelta(seconds=20)
OFTEN_FOR: Final = timedelta(minutes=10)
OPEN_MAX: Final = timedelta(minutes=15)
RECOVERY: Final = timedelta(seconds=20)
SLOW_AFTER: Final = timedelta(seconds=2)
SLOW_FOR: Final = timedelta(minutes=10)
# A call that may not go out asks again at a turn of its own: the calls that wait for one destination are 500 a second
# at most, however many there are.
TURN: Final = timedelta(milliseconds=2)
_AFTER_THE_PROBE: Final = timedelta(seconds=1)
# The pause between two probes is this part of the time for which the destination has been down.
_DOWN_SHARE: Final = 10
_RATE_FIRST: Final = 10.0
_DOUBLES_IN_SECONDS: Final = 2.0
# So many begin until the rate has doubled, and twice as many until it has doubled again.
_BEGIN_EACH: Final = _RATE_FIRST * _DOUBLES_IN_SECONDS / math.log(2)


class State(Enum):
    CLOSED = auto()
    OPEN = auto()
    HALF_OPEN = auto()
    PROBING = auto()
    RECOVERING = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Breaker:
    """The circuit breaker of one tenant's calls to one destination. The functions below make each new version."""

    # Failures in a row that say the destination is down; 0 after an answer.
    failures: int = 0
    # The instant of the first of these failures; None without one.
    since: datetime | None = None
    # The number of openings without an answer in between; 0 while it is closed.
    opened: int = 0
    # The instant of the first of these openings; None while it is closed.
    down_since: datetime | None = None
    # The instant from which a probe may go out; None while it is closed.
    open_until: datetime | None = None
    # The instant until which a probe belongs to the worker that took it; None without a probe.
    probe_until: datetime | None = None
    # The instant of the last closing or reset of an open breaker; None before. Calls begin slowly after it.
    closed_at: datetime | None = None
    # The instant until which calls use the lane for slow destinations; None if no worker waited long.
    slow_until: datetime | None = None
    # The reason of the newest failure; None without one.
    error: str | None = None
    # The number of calls that were put off since it opened; 0 while it is closed.
    waiting: int = 0
    # How often it opened and closed: the number of its newest event.
    events: int = 0
    # 0 before the first change, one more with each. Conditional writes compare the version.
    version: int = 0

    def state(self, now: datetime) -> State:
        if self.open_until is None:
            recovers = self.closed_at is not None and now < self.closed_at + RECOVERY
            return State.RECOVERING if recovers else State.CLOSED
        if now < self.open_until:
            return State.OPEN
        if self.probe_until is not None and now < self.probe_until:
            return State.PROBING
        return State.HALF_OPEN

    def is_slow(self, now: datetime) -> bool:
        return self.slow_until is not None and now < self.slow_until

    def is_calm(self, now: datetime) -> bool:
        """True if the breaker is closed without a recent failure: no other worker is likely to open it this second."""
        failing = self.since is not None and now <= self.since + FAILURES_WITHIN
        return self.state(now) is State.CLOSED and not failing

    def asks_again_from(self, now: datetime) -> datetime:
        """The first instant at which a call that may not go out now may do so."""
        match self.state(now):
            case State.OPEN:
                return self.open_until or now
            case State.PROBING:
                return self.probe_until or now
            case State.HALF_OPEN | State.CLOSED | State.RECOVERING:
                return now


def failed(breaker: Breaker, count: int, *, now: datetime, error: str | None = None) -> Breaker:
    """Counts `count` failures in a row, and opens the breaker at the tenth. `error` is the reason of the newest
    failure. While the breaker is open, failures of calls that were sent earlier change nothing."""
    match breaker.state(now):
        case State.OPEN | State.HALF_OPEN:
            return breaker
        case State.PROBING:
            return _opened(replace(breaker, error=error), now)
    fresh = breaker.since is None or now > breaker.since + FAILURES_WITHIN
    failures = count if fresh else breaker.failures + count
    since = now if fresh else breaker.since
    # One change counts the version once: `_opened` counts it as well.
    counted = _next(breaker, failures=failures, since=since, error=error)
    return (
        _opened(replace(counted, version=breaker.version), now) if failures >= FAILURES_TO_OPEN else counted
    )


def answered(breaker: Breaker, *, now: datetime) -> Breaker:
    """Takes an outcome that does not say that the destination is down, also an error such as 404. Closes an open
    breaker, or sets the count of failures to 0. Returns the breaker unchanged if it is closed and counts no failure."""
    if breaker.open_until is None and not breaker.failures:
        return breaker
    closed_at = breaker.closed_at if breaker.open_until is None else now
    # All other fields begin anew: the count of failures, the openings and the probe.
    return Breaker(
        closed_at=closed_at,
        slow_until=breaker.slow_until,
        events=_closings(breaker),
        version=breaker.version + 1,
    )


def slowed(breaker: Breaker, *, now: datetime) -> Breaker:
    """Marks the destination as slow; unchanged while the mark has at least half its time left."""
    if breaker.is_slow(now + SLOW_FOR / 2):
        return breaker
    return _next(breaker, slow_until=instants.whole(now + SLOW_FOR))


def tried_at_once(breaker: Breaker, *, now: datetime) -> Breaker:
    """Makes the next call a probe, whatever the last probe found; unchanged while the breaker stops no call."""
    if breaker.state(now) not in (State.OPEN, State.PROBING):
        return breaker
    return _next(breaker, open_until=instants.whole(now), probe_until=None)


def reset(breaker: Breaker, *, now: datetime) -> Breaker:
    """Forgets all failures and the slowness of the destination; unchanged if there is neither. Calls begin slowly, as
    after a successful probe."""
    if breaker.open_until is None and not breaker.failures and breaker.slow_until is None:
        return breaker
    closed_at = breaker.closed_at if breaker.open_until is None else instants.whole(now)
    return Breaker(closed_at=closed_at, events=_closings(breaker), version=breaker.version + 1)


def probe(breaker: Breaker, *, now: datetime, until: datetime) -> Breaker | None:
    """Grants the caller a probe; None when another worker has it or no probe is needed. A probe that takes longer than
    the interval between probes does not delay the next one."""
    if breaker.state(now) is not State.HALF_OPEN:
        return None
    return _next(breaker, probe_until=instants.whole(min(until, now + _open_for(breaker, now))))


def given_back(breaker: Breaker, probe_until: datetime | None) -> Breaker:
    """Lets another call be the probe, because the probe until this instant was not sent; unchanged if that probe is
    over."""
    if probe_until is None or breaker.probe_until != probe_until:
        return breaker
    return _next(breaker, probe_until=None)


def turns(breaker: Breaker, begin: datetime, count: int, *, now: datetime) -> list[datetime]:
    """The instants at which `count` refused calls ask again; `begin` is their stretch of the destination's timeline.

    The first call of all comes when the destination may be tried. All others come a second later, when the probe is
    likely to be over."""
    asks_from = breaker.asks_again_from(now)
    found = [begin + _AFTER_THE_PROBE + number * TURN for number in range(count)]
    if begin == asks_from and breaker.state(now) is State.OPEN:
        found[0] = asks_from
    return [instants.whole(at) for at in found]


def begun(breaker: Breaker, now: datetime) -> int:
    """Number of calls that may have begun by now, counted from the probe that succeeded. Unused starts expire, so that
    calls that arrive late together do not begin at once."""
    seconds = max(0.0, (now - (breaker.closed_at or now)).total_seconds())
    return math.ceil(_BEGIN_EACH * (2 ** (min(seconds, RECOVERY.total_seconds()) / _DOUBLES_IN_SECONDS) - 1))


def starts(breaker: Breaker, numbers: Sequence[int]) -> list[datetime]:
    """The instants at which the calls with these numbers begin. Numbers count from the success of the probe."""
    closed_at = breaker.closed_at or instants.EPOCH
    return [
        instants.whole(
            closed_at + timedelta(seconds=_DOUBLES_IN_SECONDS * math.log2(1 + number / _BEGIN_EACH))
        )
        for number in numbers
    ]


def _opened(breaker: Breaker, now: datetime) -> Breaker:
    down_since = breaker.down_since or now
    # Only the first of several openings in a row is an event.
    opened = replace(
        breaker,
        opened=breaker.opened + 1,
        down_since=down_since,
        probe_until=None,
        events=breaker.events + (breaker.open_until is None),
    )
    return _next(opened, open_until=instants.whole(now + _open_for(opened, now)))


def _closings(breaker: Breaker) -> int:
    return breaker.events + (breaker.open_until is not None)


def _open_for(breaker: Breaker, now: datetime) -> timedelta:
    down_for = now - (breaker.down_since or now)
    return PROBE_EVERY if down_for < OFTEN_FOR else min(down_for / _DOWN_SHARE, OPEN_MAX)


def _next(breaker: Breaker, **changes: object) -> Breaker:
    return replace(breaker, version=breaker.version + 1, **changes)  # type: ignore[arg-type]
