"""A wake-up: finds the passes that are due, makes them, and hands out what one worker cannot make in time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile

from functions.sweep.sweep_group import Groups, GroupSweeper
from postdate.domain import instants
from postdate.domain.sweeping import Horizon, Progress, Stage, Sweep, sweeps_due
from postdate.runtime.clock import Clock
from postdate.stores.passes import Passes

INLINE_FOR = timedelta(seconds=5)
SWEEPS_MAX = 400


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticked:
    """What a wake-up did: passes made and handed out, calls sent, and calls that only the audit found missing."""

    made: int
    handed_out: int
    sent: int
    overdue: int
    behind_minutes: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticker:
    sweeper: GroupSweeper
    passes: Passes
    groups: Groups
    horizon: Horizon
    clock: Clock
    hand_out: Callable[[list[Sweep]], None]

    def tick(self) -> Ticked:
        """Raises the watermark at the end; a crash anywhere before that costs the next tick a look at more minutes."""
        began_at = self.clock.now()
        watermark = self._watermark(began_at)
        minutes = range(watermark + 1, self.horizon.last_minute(began_at) + 1)
        due = self._due(minutes)[:SWEEPS_MAX]
        sent = overdue = made = 0
        while made < len(due) and self.clock.now() < began_at + INLINE_FOR:
            calls = self.sweeper.sweep(due[made])
            sent += calls
            overdue += calls if due[made].stage is Stage.AUDIT else 0
            made += 1
        if made < len(due):
            self.hand_out(due[made:])
        self._raise_watermark(minutes)
        unopened = [sweep.minute for sweep in due if sweep.stage is Stage.OPEN]
        behind = max(0, instants.minute_of(began_at) - min(unopened)) if unopened else 0
        return Ticked(
            made=made, handed_out=len(due) - made, sent=sent, overdue=overdue, behind_minutes=behind
        )

    def _due(self, minutes: range) -> list[Sweep]:
        groups = {minute: self.groups.count(minute) for minute in minutes}
        return sweeps_due(
            minutes, groups, self._progress(minutes), horizon=self.horizon, now=self.clock.now()
        )

    def _progress(self, minutes: range) -> dict[tuple[int, int], Progress]:
        return {
            (done.minute, done.group): done for done in self.passes.between(minutes.start, minutes.stop - 1)
        }

    def _watermark(self, now: datetime) -> int:
        """The first sweep of all begins with this minute: nothing was accepted before it."""
        watermark = self.passes.watermark()
        if watermark is None:
            watermark = instants.minute_of(now) - 2
            self.passes.raise_watermark(watermark)
        return watermark

    def _raise_watermark(self, minutes: range) -> None:
        progress = self._progress(minutes)

        def audited(minute: int) -> bool:
            found = [progress.get((minute, group)) for group in range(self.groups.count(minute))]
            return all(done is not None and done.stage is Stage.AUDIT for done in found)

        done = list(takewhile(audited, minutes))
        if done:
            self.passes.raise_watermark(done[-1])
