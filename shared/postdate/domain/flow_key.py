"""A flow key as its tenant has set it: values pinned over what tasks say, and whether it is paused.

While a key is paused, no run of it begins. A run that would begin is put off, and asks again after a tenth of the
time for which the key has been paused: after five seconds at least and 15 minutes at most. So a resumed key needs to
know of none of its waiters, and none of them is lost with the memory of a worker.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.due import DELAY_MAX
from postdate.domain.flow import FlowControl, Places, Room

# Waiting calls of one key ask again one by one: 500 a second at most, however many there are.
TURN: Final = timedelta(milliseconds=2)
ASKS_AGAIN_MIN: Final = timedelta(seconds=5)
# A run that is put off asks again after this part of the time for which the key has been paused.
_SHARE: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowKey:
    """The tenant's setting of a flow key. Requests to `/flow-keys` write it; workers read it."""

    # The pinned rate; None if each task's own rate counts.
    rate: int | None = None
    # The period of the pinned rate.
    period_seconds: int = 1
    # The pinned parallelism; None if each task's own counts.
    parallelism: int | None = None
    # The instant of the pause; None while runs may begin.
    paused_at: datetime | None = None
    # The number of runs that were put off since the pause; 0 without a pause.
    waiting: int = 0
    # 0 for a key that nobody has set, one more with each change.
    version: int = 0

    def over(self, flow: FlowControl) -> FlowControl:
        """Flow control in force for a task: the key's pinned values replace the task's own."""
        pinned = flow
        if self.rate is not None:
            pinned = replace(pinned, rate=self.rate, period_seconds=self.period_seconds)
        if self.parallelism is not None:
            pinned = replace(pinned, parallelism=self.parallelism)
        return pinned

    def asks_again_from(self, now: datetime) -> datetime:
        """The instant at which the first run that is put off now asks again: the later, the longer the key is
        paused."""
        paused_for = now - (self.paused_at or now)
        # The turns of more runs lie behind this instant, and SQS delays a message by 15 minutes at most.
        return now + min(max(paused_for / _SHARE, ASKS_AGAIN_MIN), DELAY_MAX - ASKS_AGAIN_MIN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Used:
    """A flow key with the state of its limits."""

    # The tenant's setting; the default if there is none.
    key: FlowKey
    # The timeline of the rate; None for a key without one.
    places: Places | None = None
    # The room of the active runs; None for a key without one.
    room: Room | None = None

    @property
    def exists(self) -> bool:
        return bool(self.key.version) or self.places is not None or self.room is not None

    def waiting(self, now: datetime) -> int:
        """Number of waiting runs. For a paused key: the runs that were put off. Otherwise an estimate: runs whose
        place or turn is still to come."""
        if self.key.paused_at is not None:
            return self.key.waiting
        places = 0 if self.places is None else self.places.waiting(now)
        return max(places, 0 if self.room is None else self.room.waiting(now))

    def running(self, now: datetime) -> int | None:
        """Runs in the room; None for a key without one."""
        return None if self.room is None else sum(now < end for end in self.room.runs.values())


def paused(key: FlowKey, *, now: datetime) -> FlowKey:
    """Unchanged if it is paused already."""
    return key if key.paused_at is not None else _next(key, paused_at=now)


def resumed(key: FlowKey) -> FlowKey:
    """Unchanged if it is not paused."""
    return key if key.paused_at is None else _next(key, paused_at=None)


def pinned(key: FlowKey, *, rate: int | None, period_seconds: int, parallelism: int | None) -> FlowKey:
    """Unchanged if nothing differs."""
    values = replace(key, rate=rate, period_seconds=period_seconds, parallelism=parallelism)
    return key if values == key else replace(values, version=key.version + 1)


def _next(key: FlowKey, *, paused_at: datetime | None) -> FlowKey:
    return replace(key, paused_at=paused_at, waiting=0, version=key.version + 1)
