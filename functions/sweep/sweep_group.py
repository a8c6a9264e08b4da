"""One pass over one group of a minute's shards: read, choose, send, and only then note that it is done.

A crash before the note makes the next sweeper repeat the pass. That is harmless: the claim decides, not the call.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from postdate.domain.due import Due, Via, pack
from postdate.domain.slots import ShardPlan, Slot
from postdate.domain.sweeping import Horizon, Progress, Stage, Sweep, wants_call
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.passes import Passes
from postdate.stores.tasks import Entry, TaskReads

_VIA = {Stage.OPEN: Via.SWEEP, Stage.CLOSE: Via.CLOSING, Stage.AUDIT: Via.AUDIT}
_READERS = 8


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
class GroupSweeper:
    tasks: TaskReads
    passes: Passes
    queue: Queue
    groups: Groups
    horizon: Horizon
    clock: Clock

    def sweep(self, sweep: Sweep) -> int:
        """The number of calls sent; 0 also when somebody else made this pass already."""
        began_at = self.clock.now()
        done = self.passes.get(sweep.minute, sweep.group)
        if done is not None and not _follows(sweep.stage, done.stage):
            return 0
        opened_at = began_at if done is None else done.opened_at
        chosen = list(self._chosen(sweep, opened_at, began_at))
        self.queue.send(pack(chosen, _VIA[sweep.stage]), now=self.clock.now())
        self.passes.record(
            Progress(minute=sweep.minute, group=sweep.group, stage=sweep.stage, opened_at=opened_at)
        )
        return len(chosen)

    def _chosen(self, sweep: Sweep, opened_at: datetime, now: datetime) -> Iterator[tuple[str, Due]]:
        wanted = self._judge(sweep.stage, opened_at, now)
        slots = self.groups.slots(sweep.minute, sweep.group)
        with ThreadPoolExecutor(min(_READERS, len(slots))) as readers:
            for slot, entries in zip(slots, readers.map(self._read, slots), strict=True):
                for entry in self._resolved(entries) if sweep.stage is Stage.AUDIT else entries:
                    if wanted(slot, entry):
                        yield entry.tenant, entry.due

    def _judge(self, stage: Stage, opened_at: datetime, now: datetime) -> Callable[[Slot, Entry], bool]:
        def wanted(slot: Slot, entry: Entry) -> bool:
            return wants_call(
                stage,
                slot,
                due_at=entry.due.due_at,
                moved_at=entry.moved_at,
                state=entry.state,
                lease_until=entry.lease_until,
                opened_at=opened_at,
                margin=self.horizon.margin,
                now=now,
            )

        return wanted

    def _read(self, slot: Slot) -> list[Entry]:
        return list(self.tasks.due_in(slot))

    def _resolved(self, entries: list[Entry]) -> Iterator[Entry]:
        """Pointers replaced by what they point to: an audit asks how a task fares, wherever it lives."""
        homes = self.tasks.get_many(entry.due.id for entry in entries if entry.state is None)
        for entry in entries:
            if entry.state is not None:
                yield entry
            elif task := homes.get(entry.due.id):
                yield Entry.of(task)


def _follows(stage: Stage, done: Stage) -> bool:
    order = list(Stage)
    return order.index(stage) > order.index(done)
