"""One pass over one group of a minute's shards: read, choose, send, and only then note that it is done.

A crash before the note makes the next sweeper repeat the pass. That is harmless: the claim decides, not the call.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

from postdate.domain import task
from postdate.domain.due import Via, pack
from postdate.domain.errors import Unavailable
from postdate.domain.item import kind_of
from postdate.domain.slots import Slot
from postdate.domain.sweeping import Groups, Horizon, Progress, Stage, Sweep, is_settled, wants_call
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.passes import Passes
from postdate.stores.timetable import Entry, Timetable

_VIA = {Stage.OPEN: Via.SWEEP, Stage.CLOSE: Via.CLOSING, Stage.AUDIT: Via.AUDIT}
_READERS = 8
# Of one tenant in one second and group. Payments are worth waiting for, and settle many at a time.
_TASKS_AHEAD_MAX = 250


@dataclass(frozen=True, kw_only=True, slots=True)
class Swept:
    """What one pass did: calls sent, and which of them the audit found in nobody's hands."""

    sent: int = 0
    overdue: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSweeper:
    """`queues` are those of the executors, by the kinds of items that each of them works on."""

    timetable: Timetable
    passes: Passes
    queues: Mapping[frozenset[str], Queue]
    groups: Groups
    horizon: Horizon
    clock: Clock

    def sweep(self, sweep: Sweep) -> Swept:
        """Does nothing when another sweeper made this pass already, or works in a later epoch."""
        now = self.clock.now()
        done = self.horizon.believed(self.passes.get(sweep.minute, sweep.group), now, epoch=sweep.epoch)
        if done is not None and (done.epoch > sweep.epoch or not _follows(sweep.stage, done.stage)):
            return Swept()
        opened_at = now if done is None else done.opened_at
        found = list(self._found(sweep))
        calls = [entry for slot, entry in found if self._wants(sweep, slot, entry, opened_at, now)]
        self._send(calls, _VIA[sweep.stage])
        progress = Progress(
            minute=sweep.minute,
            group=sweep.group,
            stage=sweep.stage,
            opened_at=opened_at,
            epoch=sweep.epoch,
        )
        if sweep.stage is not Stage.AUDIT:
            self.passes.record(progress)
            return Swept(sent=len(calls))
        if not all(_is_settled(entry, now) for _, entry in found):
            progress = replace(progress, stage=Stage.CLOSE, looked_at=now)
        else:
            progress = replace(progress, audited_at=now)
        self.passes.record(progress)
        return Swept(sent=len(calls), overdue=tuple(entry.due.id for entry in calls))

    def _send(self, calls: Sequence[Entry], via: Via) -> None:
        """To all queues, whatever one of them says: payments do not wait for tasks. Then the pass is made again."""
        failed: Unavailable | None = None
        for kinds, queue in self.queues.items():
            called = together([entry for entry in calls if kind_of(entry.due.id) in kinds])
            try:
                ahead_max = _TASKS_AHEAD_MAX if kinds == task.KINDS else None
                queue.send(pack([(entry.tenant, entry.due) for entry in called], via, ahead_max=ahead_max))
            except Unavailable as error:
                failed = error
        if failed is not None:
            raise failed

    def _found(self, sweep: Sweep) -> Iterator[tuple[Slot, Entry]]:
        slots = self.groups.slots(sweep.minute, sweep.group)
        with ThreadPoolExecutor(min(_READERS, len(slots))) as readers:
            for slot, entries in zip(slots, readers.map(self._read, slots), strict=True):
                for entry in self._resolved(entries) if sweep.stage is Stage.AUDIT else entries:
                    yield slot, entry

    def _wants(self, sweep: Sweep, slot: Slot, entry: Entry, opened_at: datetime, now: datetime) -> bool:
        return wants_call(
            sweep.stage,
            slot,
            due_at=entry.due.due_at,
            moved_at=entry.moved_at,
            phase=entry.phase,
            lease_until=entry.lease_until,
            opened_at=opened_at,
            margin=self.horizon.margin,
            now=now,
        )

    def _read(self, slot: Slot) -> list[Entry]:
        return list(self.timetable.due_in(slot))

    def _resolved(self, entries: list[Entry]) -> Iterator[Entry]:
        """Pointers replaced by what they point to: an audit asks how an item fares, wherever it lives."""
        homes = self.timetable.entries(entry.due.id for entry in entries if entry.phase is None)
        for entry in entries:
            if entry.phase is not None:
                yield entry
            elif entry.due.id in homes:
                yield homes[entry.due.id]


def together(entries: Iterable[Entry]) -> list[Entry]:
    """Payments in the order of the busiest of their accounts, so that those that share it meet in one packet: they
    can be settled in one transaction, and in two they would be in each other's way. Among these the other account
    decides, for the same reason."""
    found = list(entries)
    uses = Counter((entry.tenant, account) for entry in found for account in entry.accounts)

    def busiest(entry: Entry) -> list[tuple[int, str]]:
        return sorted(((uses[entry.tenant, account], account) for account in entry.accounts), reverse=True)

    return sorted(found, key=busiest, reverse=True)


def _is_settled(entry: Entry, now: datetime) -> bool:
    return entry.phase is not None and is_settled(entry.due.due_at, entry.moved_at, entry.phase, now)


def _follows(stage: Stage, done: Stage) -> bool:
    order = list(Stage)
    return order.index(stage) > order.index(done)
