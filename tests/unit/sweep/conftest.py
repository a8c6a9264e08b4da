"""The sweeper over stores in memory, four shards a minute in two groups, waking when a test says so."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

import pytest

from functions.sweep.sweep_group import GroupSweeper
from functions.sweep.tick import Ticked, Ticker
from postdate.domain import instants
from postdate.domain.errors import Unavailable
from postdate.domain.payment import Payment
from postdate.domain.slots import Slot
from postdate.domain.sweeping import Groups, Horizon, Stage, Sweep, SweepProgress, Watermark
from postdate.domain.tally import Fared
from postdate.domain.task import Task
from postdate.stores.passes_memory import MemoryPasses
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches_memory import MemorySwitches
from postdate.stores.tallies import MemoryTallies, Sums
from postdate.stores.tasks import Written
from postdate.stores.timetable import TimetableEntry
from tests.unit.doubles import PLAN, SECOND, ManualClock, ScriptedQueue, ScriptedTasks

TABLES = frozenset({"items", "payments"})


class ScriptedPasses(MemoryPasses):
    """Notes every progress that is recorded. What `refuses` names is not written."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded: list[SweepProgress] = []
        self.refuses: Callable[[SweepProgress], bool] = lambda progress: False

    def record(self, progress: SweepProgress) -> None:
        if self.refuses(progress):
            raise Unavailable
        self.recorded.append(progress)
        super().record(progress)

    @property
    def stands_at(self) -> int | None:
        mark = self.watermark()
        return None if mark is None else mark.minute

    def stages(self, minute: int) -> list[Stage | None]:
        return [done.stage if (done := self.get(minute, group)) else None for group in range(2)]


class ScriptedTallies(MemoryTallies):
    """Tallies that write nothing while they `refuse`."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses = False

    def record(self, minute: int, group: int, sums: Sums) -> None:
        if self.refuses:
            raise Unavailable
        super().record(minute, group, sums)


class ScriptedSlots(ScriptedTasks):
    """Tasks, and payments beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.others: list[Payment] = []

    def due_in(self, slot: Slot, *, fared: bool = False) -> Iterator[TimetableEntry]:
        yield from super().due_in(slot, fared=fared)
        for each in self.others:
            if each.home == slot:
                how = Fared.of_payment(each) if fared else None
                yield TimetableEntry.of(each, each.payer, each.payee, fared=how)


class Sweeping:
    """Minutes from the last one on are to be swept, or, with no sweep ever made, what the first tick looks back at."""

    def __init__(self, *, shards_per_group: int = 2, swept_before: bool = True) -> None:
        self.clock = ManualClock()
        self.tasks = ScriptedSlots()
        self.passes = ScriptedPasses()
        if swept_before:
            self._closed(instants.minute_of(self.clock.now()) - 2)
        self.tallies = ScriptedTallies()
        self.switches = MemorySwitches()
        self.queue = ScriptedQueue(self.clock)
        self.payments_queue = ScriptedQueue(self.clock)
        self.groups = Groups(shards=PLAN, size=shards_per_group)
        self.horizon = Horizon(lead=120 * SECOND, margin=60 * SECOND)
        self.handed_out: list[list[Sweep]] = []
        self.sweeper = GroupSweeper(
            timetable=self.tasks,
            passes=self.passes,
            tallies=self.tallies,
            queues={frozenset({"task", "run"}): self.queue, frozenset({"pay"}): self.payments_queue},
            groups=self.groups,
            horizon=self.horizon,
            switchboard=Switchboard(switches=self.switches, clock=self.clock),
            clock=self.clock,
        )
        self.ticker = Ticker(
            tables=TABLES,
            sweeper=self.sweeper,
            passes=self.passes,
            groups=self.groups,
            horizon=self.horizon,
            clock=self.clock,
            hand_out=self.handed_out.append,
        )

    def _closed(self, last: int) -> None:
        """Audited until an hour ago, and closed since."""
        self.passes.raise_watermark(Watermark(minute=last - 58))
        for minute in range(last - 57, last + 1):
            for group in range(2):
                opened_at = instants.start_of(minute)
                note = SweepProgress(minute=minute, group=group, stage=Stage.CLOSE, opened_at=opened_at)
                MemoryPasses.record(self.passes, note)

    def stores(self, *tasks: Task) -> None:
        assert set(self.tasks.add(tasks)) <= {Written.DONE}

    def sweep(self, minute: int, stage: Stage, *, at: datetime | None = None) -> int:
        """The pass over all groups of the minute; the number of calls sent."""
        if at is not None:
            self.clock.sleep_until(at)
        groups = range(self.groups.count(minute))
        return sum(
            self.sweeper.sweep(Sweep(minute=minute, group=group, stage=stage)).sent for group in groups
        )

    def ticks(self, *, until: datetime, every: timedelta = 10 * SECOND) -> list[Ticked]:
        """Wakes now and every so often up to that instant."""
        made = [self.ticker.tick()]
        while self.clock.now() + every <= until:
            self.clock.move(every)
            made.append(self.ticker.tick())
        return made


@pytest.fixture
def sweeping() -> Sweeping:
    return Sweeping()
