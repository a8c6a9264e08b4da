"""A wake-up: finds the passes that are due, makes them, and hands out what one worker cannot make in time."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile

from functions.sweep.sweep_group import GroupSweeper, Swept
from postdate.domain import instants
from postdate.domain.limits import PASSES_MAX
from postdate.domain.sweeping import (
    AUDITED_AFTER,
    Groups,
    Horizon,
    Stage,
    Sweep,
    SweepProgress,
    Watermark,
    sweeps_due,
)
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.passes import Passes

# After this time the rest of the passes goes to other workers.
INLINE_FOR = timedelta(seconds=5)
# Minutes.
FIRST_LOOKS_BACK = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticked:
    """The result of one wake-up of the sweeper."""

    # The number of passes that this function made itself.
    made: int
    # The number of these passes that failed.
    failed: int
    # The number of passes that other workers got.
    handed_out: int
    # The number of calls that were sent.
    sent: int
    # The number of items that closing passes counted.
    due: int
    # The number of these that still wait for their first attempt.
    waiting: int
    # Items that an audit pass found late and sent again; empty in a healthy system.
    overdue: tuple[str, ...]
    # The age in minutes of the oldest minute without its open pass; 0 if no minute lacks it.
    behind_minutes: int


class OtherTable(Exception):
    """The watermark is about a table that this sweeper does not read: `postdate recover` has to put it back first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticker:
    """Makes and hands out the passes of one wake-up."""

    # The tables that the sweeper reads. A watermark of another table says nothing about these.
    tables: frozenset[str]
    sweeper: GroupSweeper
    passes: Passes
    groups: Groups
    horizon: Horizon
    clock: Clock
    # Gives passes to other workers.
    hand_out: Callable[[list[Sweep]], None]
    # The greatest number of passes of one wake-up; the next wake-up takes the rest.
    passes_max: Callable[[], int] = lambda: PASSES_MAX

    def tick(self) -> Ticked:
        """Makes the passes that are due, hands out those that it has no time for, and raises the watermark. The
        watermark comes last: a crash before that costs the next tick a look at more minutes."""
        began_at = self.clock.now()
        # No minute up to the watermark needs a pass any more.
        mark = self._watermark(began_at)
        minutes = range(mark.minute + 1, self.horizon.last_minute(began_at) + 1)
        due = self._due(minutes, mark.epoch)[: self.passes_max()]
        swept: list[Swept | None] = []
        while len(swept) < len(due) and self.clock.now() < began_at + INLINE_FOR:
            swept.append(self._swept(due[len(swept)]))
        left = due[len(swept) :]
        # Other workers make the rest at the same time. A pass that is handed out twice changes nothing.
        if left:
            self.hand_out(left)
        self._raise_watermark(mark, minutes)
        made = [each for each in swept if each is not None]
        # The minutes whose open pass was still to make tell how far the sweep was behind.
        unopened = [sweep.minute for sweep in due if sweep.stage is Stage.OPEN]
        return Ticked(
            made=len(made),
            failed=len(swept) - len(made),
            handed_out=len(left),
            sent=sum(each.sent for each in made),
            due=sum(each.due for each in made),
            waiting=sum(each.waiting for each in made),
            overdue=tuple(id for each in made for id in each.overdue),
            behind_minutes=max(0, instants.minute_of(began_at) - min(unopened)) if unopened else 0,
        )

    def _swept(self, sweep: Sweep) -> Swept | None:
        """Makes one pass; returns None if it fails. A slot that cannot be swept must not stop all others: the next
        tick tries it again."""
        try:
            return self.sweeper.sweep(sweep)
        except Exception:
            logger.exception("a pass failed", extra={"action": "pass_failed", "pass": str(sweep)})
            return None

    def _due(self, minutes: range, epoch: int) -> list[Sweep]:
        groups = {minute: self.groups.count(minute) for minute in minutes}
        now, progress = self.clock.now(), self._progress(minutes)
        return sweeps_due(minutes, groups, progress, horizon=self.horizon, now=now, epoch=epoch)

    def _progress(self, minutes: range) -> dict[tuple[int, int], SweepProgress]:
        return {
            (done.minute, done.group): done for done in self.passes.between(minutes.start, minutes.stop - 1)
        }

    def _watermark(self, now: datetime) -> Watermark:
        """The watermark behind which this wake-up looks for passes. The first sweep of all begins an hour back:
        registration may have worked before the sweeper did. A watermark nearer than that is the work of a clock that is
        ahead."""
        latest = instants.minute_of(now - AUDITED_AFTER)
        mark = self.passes.watermark()
        if mark is None:
            mark = Watermark(minute=instants.minute_of(now) - FIRST_LOOKS_BACK, tables=self.tables)
            self.passes.raise_watermark(mark)
        if others := mark.tables - self.tables:
            read = ", ".join(sorted(self.tables))
            raise OtherTable(
                f"the watermark is about {', '.join(sorted(others))}, and this sweeper reads {read}"
            )
        return replace(mark, minute=min(mark.minute, latest), tables=self.tables)

    def _raise_watermark(self, mark: Watermark, minutes: range) -> None:
        """Raises the watermark as far as every minute has been audited in this epoch."""
        progress = self._progress(minutes)

        def audited(minute: int) -> bool:
            found = [progress.get((minute, group)) for group in range(self.groups.count(minute))]
            return all(
                done is not None and done.stage is Stage.AUDIT and done.epoch == mark.epoch for done in found
            )

        done = list(takewhile(audited, minutes))
        if done:
            self.passes.raise_watermark(replace(mark, minute=done[-1]))
