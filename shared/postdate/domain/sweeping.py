"""How a minute's slots are gone over: opened ahead of time, closed after their end, audited an hour later.

    open   everything that is due in the slot is sent
    close  what was registered or moved too late for the open pass, by somebody who died before sending it himself
    audit  what is overdue and in nobody's hands; in a healthy system that is nothing. It is repeated until everything
           that is called from this minute has ended

A registrar need not know which passes have run: whoever writes into a slot that may have been opened sends the call
himself, and a margin far above any skew between two machines' clocks decides on "may".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from postdate.domain import instants
from postdate.domain.due import DELAY_MAX
from postdate.domain.item import Phase
from postdate.domain.slots import ShardPlan, Slot

CLOSES_AFTER: Final = timedelta(minutes=1)
AUDITED_AFTER: Final = timedelta(hours=1)
AUDITED_AGAIN_AFTER: Final = timedelta(minutes=10)
OVERDUE_AFTER: Final = timedelta(minutes=10)


class Stage(StrEnum):
    OPEN = "open"
    CLOSE = "close"
    AUDIT = "audit"


_NEXT: Final = {None: Stage.OPEN, Stage.OPEN: Stage.CLOSE, Stage.CLOSE: Stage.AUDIT, Stage.AUDIT: None}


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """The newest finished pass over one group of a minute's shards. `opened_at` is when its open pass began,
    `looked_at` when an audit found that something has not ended yet, `audited_at` when one found that everything has. A
    pass of an earlier `epoch` does not count."""

    minute: int
    group: int
    stage: Stage
    opened_at: datetime
    looked_at: datetime | None = None
    audited_at: datetime | None = None
    epoch: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """`minute` is the last one up to which every pass was made. `epoch` counts how often the watermark was put back.
    `tables` are those that it is about: other ones take their place only with a new epoch. None in old rows."""

    minute: int
    epoch: int = 0
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Groups:
    """Shards are swept in groups: the group is what one worker reads and what one checkpoint covers."""

    plan: ShardPlan
    size: int

    def count(self, minute: int) -> int:
        return -(-self.plan.shards(minute) // self.size)

    def slots(self, minute: int, group: int) -> list[Slot]:
        shards = range(group * self.size, min((group + 1) * self.size, self.plan.shards(minute)))
        return [Slot(minute=minute, shard=shard) for shard in shards]


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """How long before its start a minute is opened, and how far clocks and deliveries may be apart."""

    lead: timedelta
    margin: timedelta

    def reaches(self, due_at: datetime, now: datetime) -> bool:
        """The slot of this instant may be open already: its call has to be sent by whoever writes the item."""
        return instants.start_of(instants.minute_of(due_at)) < now + self.lead + self.margin

    def last_minute(self, now: datetime) -> int:
        return instants.minute_of(now + self.lead)

    def due(self, stage: Stage, minute: int, now: datetime) -> bool:
        match stage:
            case Stage.OPEN:
                return instants.start_of(minute) <= now + self.lead
            case Stage.CLOSE:
                return instants.end_of(minute) + CLOSES_AFTER <= now
            case Stage.AUDIT:
                return instants.end_of(minute) + AUDITED_AFTER <= now

    def believed(self, done: Progress | None, now: datetime, *, epoch: int) -> Progress | None:
        """None for a pass of an earlier epoch, which may have read another table. None for a pass that cannot have been
        made yet: its sweeper had a clock that is ahead, and saw less than there was to come."""
        if done is None or done.epoch < epoch or not self.due(done.stage, done.minute, now + self.margin):
            return None
        return done


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """One pass to make, and the epoch in which it was found due."""

    minute: int
    group: int
    stage: Stage
    epoch: int = 0


def sweeps_due(
    minutes: Iterable[int],
    groups: Mapping[int, int],
    progress: Mapping[tuple[int, int], Progress],
    *,
    horizon: Horizon,
    now: datetime,
    epoch: int = 0,
) -> list[Sweep]:
    """The next pass of every group that is due for one; what is due soon comes before what was missed long ago."""
    found = []
    for minute in minutes:
        for group in range(groups[minute]):
            done = horizon.believed(progress.get((minute, group)), now, epoch=epoch)
            stage = _NEXT[done.stage if done else None]
            rests = (
                done is not None and done.looked_at is not None and now < done.looked_at + AUDITED_AGAIN_AFTER
            )
            if stage is not None and horizon.due(stage, minute, now) and not rests:
                found.append(Sweep(minute=minute, group=group, stage=stage, epoch=epoch))
    current = instants.minute_of(now) - 1
    return sorted(
        found, key=lambda sweep: (sweep.stage is not Stage.OPEN or sweep.minute < current, sweep.minute)
    )


def is_settled(due_at: datetime, moved_at: datetime, phase: Phase, now: datetime) -> bool:
    """It has ended, or waits for a minute whose own audit will see it. An item that was put off by no more than the
    queue can delay has no pointer in the minute of its new instant, whatever this clock says."""
    if phase is Phase.WAITS:
        return due_at > max(now, moved_at) + DELAY_MAX
    return phase is Phase.RESTS


def wants_call(
    stage: Stage,
    slot: Slot,
    *,
    due_at: datetime,
    moved_at: datetime,
    phase: Phase | None,
    lease_until: datetime | None,
    opened_at: datetime,
    margin: timedelta,
    now: datetime,
) -> bool:
    """Whether this pass sends a call for an item it found in the slot. `phase` is None behind a pointer."""
    if stage is Stage.AUDIT:
        overdue = due_at + OVERDUE_AFTER <= now
        held = lease_until is not None and now < lease_until + OVERDUE_AFTER
        return overdue and not held and phase is not Phase.RESTS
    if not slot.holds(due_at) or phase not in (None, Phase.WAITS):
        return False
    return stage is Stage.OPEN or moved_at >= opened_at - margin
