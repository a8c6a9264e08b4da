"""Flow control of one key of a tenant: how often a run may begin (rate), and how many run at once (parallelism).

Rate: places on a timeline, one every `period / rate`. A key stores one instant: all places before it are taken. A
worker that wants n places moves the instant on and then knows when each of its runs may begin. No run asks twice.

Parallelism: a room with a fixed number of runs, each until it leaves or its lease ends. A run that finds the room full
gets an instant at which to ask again. These turns are as far apart as runs have lately left the room, so that the
waiting runs do not ask all at once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Final

from postdate.domain import instants

# Each run in a room is an entry of one row, which every run that enters or leaves writes.
PARALLELISM_MAX: Final = 100
# The lateness up to which a place still counts.
PLACE_KEPT: Final = timedelta(seconds=1)
_MICROSECOND: Final = timedelta(microseconds=1)
# The assumed stay before any run has left the room.
_STAY: Final = timedelta(seconds=1)
# Turns as short as a very short stay would let all waiting runs ask at once.
_STAY_MIN: Final = timedelta(milliseconds=50)
# No run asks again sooner than this.
_TURN_MIN: Final = timedelta(milliseconds=200)
# The weight of the newest stay in the average.
_NEWEST_COUNTS: Final = 0.3


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowControl:
    """The limits of a tenant's `key`: at most `rate` runs begin in a period, and at most `parallelism` runs are active
    at once."""

    # The name that tasks share, chosen by the tenant.
    key: str
    # The number of runs in a period; None without a limit.
    rate: int | None = None
    # The length of a period.
    period_seconds: int = 1
    # The number of active runs; None without a limit.
    parallelism: int | None = None

    @property
    def interval(self) -> timedelta:
        """The time between two places, in whole microseconds. Rounded up, so runs never begin faster than asked."""
        if self.rate is None:
            return timedelta(0)
        return -(-self.period_seconds * 1_000_000 // self.rate) * _MICROSECOND


def places(begin: datetime, intervals: Sequence[timedelta]) -> list[datetime]:
    """The instants of places that lie one after the other from `begin` on, each as wide as its interval."""
    widths = accumulate(intervals, initial=timedelta(0))
    return [instants.whole(begin + before) for before, _ in zip(widths, intervals, strict=False)]


def still_counts(placed_at: datetime | None, due_at: datetime, now: datetime) -> bool:
    """True while the place that was given for this instant still counts. A run that stood still for longer takes
    another place; otherwise all runs that waited meanwhile would begin at once."""
    return placed_at == due_at and now <= due_at + PLACE_KEPT


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """A key's timeline."""

    # The instant up to which places are given away.
    ends: datetime
    # The interval between the newest of these places.
    step: timedelta

    def waiting(self, now: datetime) -> int:
        """About so many have a place to come."""
        return max(0, -(-(self.ends - now) // max(self.step, _MICROSECOND)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """The active runs of a flow key, and the turns of runs that found the room full. `enter` makes each new version."""

    # The names of the runs inside, with the ends of their leases.
    runs: Mapping[str, datetime] = field(default_factory=dict)
    # The usual stay of a run, from the latest runs that left.
    stay: timedelta = _STAY
    # The instant up to which turns to ask again are given away; None if no run waits.
    turns_until: datetime | None = None
    # The interval between two turns.
    turn: timedelta = _STAY
    # 0 for a room that no run has entered, one more with each change.
    version: int = 0

    def waiting(self, now: datetime) -> int:
        """About so many have a turn to come."""
        ahead = (self.turns_until or now) - now
        return max(0, -(-ahead // max(self.turn, _MICROSECOND)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Entered:
    """The result of a request of some runs to enter a room."""

    # The room with the runs that got in.
    room: Room
    # The instants at which the other runs ask again, by their names.
    turns: Mapping[str, datetime]


def enter(room: Room, runs: Sequence[str], *, parallelism: int, until: datetime, now: datetime) -> Entered:
    """Lets runs enter in their order while the room has space, and gives turns to the others. Runs that are inside
    already stay. A run whose lease is over takes no space."""
    inside = {run: end for run, end in room.runs.items() if now < end}
    outside = []
    for run in runs:
        if run in inside or len(inside) < parallelism:
            inside[run] = until
        else:
            outside.append(run)
    step = max(room.stay, _STAY_MIN) / parallelism
    first = max(room.turns_until or now, now + _TURN_MIN)
    turns = {run: instants.whole(first + index * step) for index, run in enumerate(outside)}
    turns_until = first + len(outside) * step if outside else room.turns_until
    return Entered(
        room=replace(
            room,
            runs=inside,
            turns_until=turns_until,
            turn=step if outside else room.turn,
            version=room.version + 1,
        ),
        turns=turns,
    )


def stayed(before: timedelta, newest: timedelta) -> timedelta:
    """Moving average of the time that runs stay, with the newest stay counted in."""
    return before + _NEWEST_COUNTS * (newest - before)
