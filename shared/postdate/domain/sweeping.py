"""The three passes over a minute's slots: open ahead of time, close after the minute, audit an hour later.

    open   sends every item that is due in the slot
    close  sends items that were registered or moved too late for the open pass, by a process that died before it
           sent them
    audit  sends overdue items that no message carries; a healthy system has none. The audit is repeated until every
           item called from this minute has ended

A registrar need not know which passes have run: it sends the call itself whenever the slot may have been opened. The
margin behind "may" is far above any skew between two machines' clocks.
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
COUNTED_AGAIN_AFTER: Final = timedelta(minutes=5)
# An item that is later than this, and that no worker has, counts as lost.
OVERDUE_AFTER: Final = timedelta(minutes=10)


class Stage(StrEnum):
    OPEN = "open"
    CLOSE = "close"
    AUDIT = "audit"


_NEXT: Final = {None: Stage.OPEN, Stage.OPEN: Stage.CLOSE, Stage.CLOSE: Stage.AUDIT, Stage.AUDIT: None}


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepProgress:
    """The newest finished pass over one group of a minute's shards, written by the sweeper that made it."""

    # The minute, counted from the epoch.
    minute: int
    # The number of the group within the minute.
    group: int
    # The pass: open, closing or audit.
    stage: Stage
    # The beginning of the open pass. Items written since then are read again by the closing pass.
    opened_at: datetime
    # The instant of a pass that has to be repeated: a closing pass that found waiting items, or an audit pass that
    # found unfinished ones. None if the next pass follows.
    looked_at: datetime | None = None
    # The instant at which an audit pass found everything ended; None before.
    audited_at: datetime | None = None
    # The number of items that the pass found waiting for their first attempt.
    waiting: int = 0
    # The epoch of the watermark. A pass of an earlier epoch does not count.
    epoch: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Watermark:
    """The progress of all sweepers together."""

    # The last minute up to which all passes are made.
    minute: int
    # The number of resets of the watermark.
    epoch: int = 0
    # The tables that it is about; empty in rows of older releases. Other tables need a new epoch.
    tables: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Groups:
    """Shards are swept in groups: the group is what one worker reads and what one checkpoint covers."""

    # The number of shards of each minute.
    shards: ShardPlan
    # The number of shards of a group.
    size: int

    def count(self, minute: int) -> int:
        return -(-self.shards.count(minute) // self.size)

    def slots(self, minute: int, group: int) -> list[Slot]:
        shards = range(group * self.size, min((group + 1) * self.size, self.shards.count(minute)))
        return [Slot(minute=minute, shard=shard) for shard in shards]


@dataclass(frozen=True, kw_only=True, slots=True)
class Horizon:
    """The time at which each pass over a minute is due."""

    # The time before a minute at which its slots are opened.
    lead: timedelta
    # More than two clocks of the service may differ.
    margin: timedelta

    def reaches(self, due_at: datetime, now: datetime) -> bool:
        """The slot of this instant may be open already: the writer of the item has to send its call."""
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

    def believed(self, done: SweepProgress | None, now: datetime, *, epoch: int) -> SweepProgress | None:
        """The progress that a pass noted; None if it does not count. Two kinds do not count: a pass of an earlier
        epoch, which may have read another table; and a pass that cannot be due yet, because its sweeper's clock was
        ahead and missed items that were written later."""
        if done is None or done.epoch < epoch or not self.due(done.stage, done.minute, now + self.margin):
            return None
        return done


@dataclass(frozen=True, kw_only=True, slots=True)
class Sweep:
    """One pass to make, and the epoch in which it was found due."""

    # The minute whose slots are read, counted from 1970.
    minute: int
    # The number of the group of shards.
    group: int
    # The open, the closing or the audit pass.
    stage: Stage
    # A recovery begins a new epoch. Passes of earlier ones count as not made.
    epoch: int = 0


def sweeps_due(
    minutes: Iterable[int],
    groups: Mapping[int, int],
    progress: Mapping[tuple[int, int], SweepProgress],
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
            stage = _next(done, horizon, now)
            if stage is not None and horizon.due(stage, minute, now):
                found.append(Sweep(minute=minute, group=group, stage=stage, epoch=epoch))
    # Items that are due now must not wait until an old outage is caught up.
    current = instants.minute_of(now) - 1
    return sorted(
        found, key=lambda sweep: (sweep.stage is not Stage.OPEN or sweep.minute < current, sweep.minute)
    )


def _next(done: SweepProgress | None, horizon: Horizon, now: datetime) -> Stage | None:
    """The next pass of a group, which may not be due yet. None if it is too early to repeat a pass, or all are done.

    The order is open, close, audit. A closing pass that found waiting items is repeated every 5 minutes until the audit
    is due. An audit that found unfinished items is repeated every 10 minutes.
    """
    if done is None or done.looked_at is None:
        return _NEXT[done.stage if done else None]
    if horizon.due(Stage.AUDIT, done.minute, done.looked_at):
        return Stage.AUDIT if done.looked_at + AUDITED_AGAIN_AFTER <= now else None
    if horizon.due(Stage.AUDIT, done.minute, now):
        return Stage.AUDIT
    return Stage.CLOSE if done.looked_at + COUNTED_AGAIN_AFTER <= now else None


def is_settled(due_at: datetime, moved_at: datetime, phase: Phase, now: datetime) -> bool:
    """True if the item has ended, or waits for a minute whose own audit will see it. An item that was put off by no
    more than the queue's longest delay has no pointer in its new minute, whatever this clock says."""
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
    unseen_from: datetime,
    now: datetime,
) -> bool:
    """True if this pass sends a call for an item found in the slot. `phase` is None for a pointer, which does not show
    its item's state. The open pass may have missed items written or moved at `unseen_from` or later; the closing pass
    calls these."""
    if stage is Stage.AUDIT:
        overdue = due_at + OVERDUE_AFTER <= now
        leased = lease_until is not None and now < lease_until + OVERDUE_AFTER
        return overdue and not leased and phase is not Phase.RESTS
    if not slot.holds(due_at) or phase not in (None, Phase.WAITS):
        return False
    return stage is Stage.OPEN or moved_at >= unseen_from
