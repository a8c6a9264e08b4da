"""Makes one pass over one group of a minute's shards: read, choose, send, and only then note that it is done.

A crash before the note makes the next sweeper repeat the pass. That is harmless: the claim decides, not the call.

The closing pass also tallies how the minute's items fared, for the overview, from the rows that it has read. A tally
that cannot be written holds no pass up: then the overview shows nothing of that group's minute. Its note says how many
items wait for their first attempt, so that lists of PENDING items know where to look.

An audit sends no call again for an item that an operator's switch stops: its call comes back by itself, and a second
one each hour would only add work. The item is audited again when the switch is on.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain

from postdate.domain import instants, payment, task
from postdate.domain.due import Via, pack
from postdate.domain.errors import Unavailable
from postdate.domain.item import Phase, kind_of
from postdate.domain.slots import Slot
from postdate.domain.sweeping import Groups, Horizon, Stage, Sweep, SweepProgress, is_settled, wants_call
from postdate.domain.switch import SETTLEMENT, of_tenant
from postdate.domain.tally import tallied
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.runtime.queue import Queue
from postdate.stores.passes import Passes
from postdate.stores.switchboard import Switchboard
from postdate.stores.tallies import Tallies
from postdate.stores.timetable import Timetable, TimetableEntry

_VIA = {Stage.OPEN: Via.SWEEP, Stage.CLOSE: Via.CLOSING, Stage.AUDIT: Via.AUDIT}
_READERS = 8
# Deliveries and steps of operations are in no list of PENDING items.
_LISTED = frozenset({task.KIND, task.RUN_KIND, payment.KIND})
_PENDING = frozenset({task.State.PENDING.value, payment.State.PENDING.value})
# Of one tenant in one second and group. Payments are worth waiting for, and settle many at a time.
_TASKS_AHEAD_MAX = 250


@dataclass(frozen=True, kw_only=True, slots=True)
class Swept:
    """The result of one pass."""

    # The number of calls that were sent.
    sent: int = 0
    # The ids of overdue items without a message; only an audit looks for them.
    overdue: tuple[str, ...] = ()
    # The number of items of the minute; counted by the closing pass.
    due: int = 0
    # The number of these without an attempt.
    waiting: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class GroupSweeper:
    """Makes passes."""

    timetable: Timetable
    passes: Passes
    tallies: Tallies
    # The queues of the executors, by the kinds of items that each executor works on.
    queues: Mapping[frozenset[str], Queue]
    groups: Groups
    horizon: Horizon
    switchboard: Switchboard
    clock: Clock

    def sweep(self, sweep: Sweep) -> Swept:
        """Does nothing when another sweeper made this pass already, or works in a later epoch. A closing pass that is
        made again only counts."""
        now = self.clock.now()
        done = self.horizon.believed(self.passes.get(sweep.minute, sweep.group), now, epoch=sweep.epoch)
        if done is not None and (done.epoch > sweep.epoch or not _follows(sweep.stage, done)):
            return Swept()
        # Before the slots are read: the closing pass looks for items that were written since.
        opened_at = now if done is None else done.opened_at
        found = list(self._found(sweep))
        progress = SweepProgress(
            minute=sweep.minute,
            group=sweep.group,
            stage=sweep.stage,
            opened_at=opened_at,
            epoch=sweep.epoch,
        )
        # The pass was made already, so its calls are out. Only its count may have changed.
        if done is not None and done.stage is sweep.stage:
            self.passes.record(self._with_waiting(progress, self._planned(found), now))
            return Swept()
        # The calls go before the note of the pass: a crash in between repeats the pass, and repeated calls do no harm.
        calls = [entry for slot, entry in found if self._wants(sweep, slot, entry, opened_at, now)]
        if sweep.stage is Stage.AUDIT:
            calls = self._not_stopped(calls)
        self._send(calls, _VIA[sweep.stage])
        if sweep.stage is Stage.OPEN:
            self.passes.record(progress)
            return Swept(sent=len(calls))
        if sweep.stage is Stage.CLOSE:
            planned = self._planned(found)
            self._tally(sweep, planned)
            self.passes.record(self._with_waiting(progress, planned, now))
            due = [entry for slot, entry in found if entry.phase is not None and slot.holds(entry.due.due_at)]
            return Swept(
                sent=len(calls), due=len(due), waiting=sum(entry.phase is Phase.WAITS for entry in due)
            )
        # The audit pass ends only when nothing is left. Until then the minute counts as closed and is audited again.
        left = [entry for _, entry in found if not _is_settled(entry, now)]
        waiting = sum(entry.phase is Phase.WAITS for entry in left)
        if left:
            progress = replace(progress, stage=Stage.CLOSE, looked_at=now, waiting=waiting)
        else:
            progress = replace(progress, audited_at=now)
        self.passes.record(progress)
        return Swept(sent=len(calls), overdue=tuple(entry.due.id for entry in calls))

    def _not_stopped(self, calls: Sequence[TimetableEntry]) -> list[TimetableEntry]:
        names = [_switches_of(entry) for entry in calls]
        self.switchboard.look(chain.from_iterable(names))
        return [
            entry
            for entry, needed in zip(calls, names, strict=True)
            if all(self.switchboard.last(name).on for name in needed)
        ]

    def _send(self, calls: Sequence[TimetableEntry], via: Via) -> None:
        """Sends calls to all queues. A failure of one queue does not keep the others waiting, and is raised at the end,
        so the pass is made again."""
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

    def _found(self, sweep: Sweep) -> Iterator[tuple[Slot, TimetableEntry]]:
        slots = self.groups.slots(sweep.minute, sweep.group)
        read = partial(self._read, fared=sweep.stage is Stage.CLOSE)
        with ThreadPoolExecutor(min(_READERS, len(slots))) as readers:
            # An audit asks for the item itself, wherever it is; the other passes take pointers as calls.
            for slot, entries in zip(slots, readers.map(read, slots), strict=True):
                for entry in self._resolved(entries) if sweep.stage is Stage.AUDIT else entries:
                    yield slot, entry

    def _planned(self, found: Iterable[tuple[Slot, TimetableEntry]]) -> list[TimetableEntry]:
        """Pointers lead to items whose home is another minute. Most minutes have none."""
        entries = [entry for _, entry in found]
        moved = {entry.due.id for entry in entries if entry.phase is None}
        elsewhere = self.timetable.entries(moved, fared=True) if moved else {}
        items = {entry.due.id: entry for entry in (*entries, *elsewhere.values())}
        return [entry for entry in items.values() if entry.fared is not None]

    def _with_waiting(
        self, closed: SweepProgress, planned: Iterable[TimetableEntry], now: datetime
    ) -> SweepProgress:
        """The progress of a closing pass, with the number of items that wait for their first attempt. If there are any,
        `looked_at` makes the pass repeat and count again. It stays None once the audit pass is due: an instant here
        would delay the audit by ten minutes."""
        waiting = sum(_is_left_behind(entry, closed.minute) for entry in planned)
        audit_is_due = self.horizon.due(Stage.AUDIT, closed.minute, now)
        return replace(closed, waiting=waiting, looked_at=now if waiting and not audit_is_due else None)

    def _tally(self, sweep: Sweep, planned: Iterable[TimetableEntry]) -> None:
        found = [(each.tenant, each.due.id, each.fared) for each in planned if each.fared is not None]
        try:
            self.tallies.record(sweep.minute, sweep.group, tallied(sweep.minute, found))
        except Unavailable:
            logger.warning("a minute was not tallied", extra={"action": "not_tallied", "pass": str(sweep)})

    def _wants(
        self, sweep: Sweep, slot: Slot, entry: TimetableEntry, opened_at: datetime, now: datetime
    ) -> bool:
        return wants_call(
            sweep.stage,
            slot,
            due_at=entry.due.due_at,
            moved_at=entry.moved_at,
            phase=entry.phase,
            lease_until=entry.lease_until,
            unseen_from=opened_at - self.horizon.margin,
            now=now,
        )

    def _read(self, slot: Slot, *, fared: bool) -> list[TimetableEntry]:
        return list(self.timetable.due_in(slot, fared=fared))

    def _resolved(self, entries: list[TimetableEntry]) -> Iterator[TimetableEntry]:
        """Pointers replaced by what they point to: an audit asks how an item fares, wherever it lives."""
        homes = self.timetable.entries(entry.due.id for entry in entries if entry.phase is None)
        for entry in entries:
            if entry.phase is not None:
                yield entry
            elif entry.due.id in homes:
                yield homes[entry.due.id]


def together(entries: Iterable[TimetableEntry]) -> list[TimetableEntry]:
    """Orders payments by the busiest of their accounts, then by the other account. Payments that share an account then
    meet in one packet and one transaction; in two transactions they would conflict."""
    found = list(entries)
    uses = Counter((entry.tenant, account) for entry in found for account in entry.accounts)

    def busiest(entry: TimetableEntry) -> list[tuple[int, str]]:
        return sorted(((uses[entry.tenant, account], account) for account in entry.accounts), reverse=True)

    return sorted(found, key=busiest, reverse=True)


def _switches_of(entry: TimetableEntry) -> list[str]:
    names = [of_tenant(entry.tenant)]
    return [SETTLEMENT, *names] if kind_of(entry.due.id) == payment.KIND else names


def _is_settled(entry: TimetableEntry, now: datetime) -> bool:
    return entry.phase is not None and is_settled(entry.due.due_at, entry.moved_at, entry.phase, now)


def _is_left_behind(entry: TimetableEntry, minute: int) -> bool:
    """The item is in a list, was planned for this minute, and waits for its first attempt. An item that was put off
    does not count: the list of those that linger has it."""
    return (
        entry.fared is not None
        and kind_of(entry.due.id) in _LISTED
        and entry.fared.state in _PENDING
        and entry.fared.planned_at == entry.due.due_at
        and instants.minute_of(entry.due.due_at) == minute
    )


def _follows(stage: Stage, done: SweepProgress) -> bool:
    order = list(Stage)
    counts_again = stage is Stage.CLOSE is done.stage and done.waiting > 0
    return counts_again or order.index(stage) > order.index(done.stage)
