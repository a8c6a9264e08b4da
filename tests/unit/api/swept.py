"""The sweep's notes as lists of PENDING and RUNNING items read them."""

from datetime import datetime

from functions.api.unfinished import Unfinished
from postdate.domain import instants
from postdate.domain.sweeping import AUDITED_AFTER, Groups, Horizon, Stage, SweepProgress, Watermark
from postdate.runtime.clock import Clock
from postdate.stores.passes_memory import MemoryPasses
from tests.unit.doubles import PLAN, SECOND

HORIZON = Horizon(lead=120 * SECOND, margin=60 * SECOND)


class Notes(MemoryPasses):
    """Four shards a minute in two groups."""

    def note(self, minute: int, stage: Stage, *, waiting: int = 0, group: int | None = None) -> None:
        for each in range(2) if group is None else [group]:
            opened_at = instants.start_of(minute)
            self.record(
                SweepProgress(minute=minute, group=each, stage=stage, opened_at=opened_at, waiting=waiting)
            )

    def close(self, now: datetime) -> None:
        """All that a healthy sweep has closed and audited by then."""
        audited = instants.minute_of(now - AUDITED_AFTER) - 1
        self.raise_watermark(Watermark(minute=audited))
        for minute in range(audited + 1, instants.minute_of(now) - 1):
            self.note(minute, Stage.CLOSE)


def unfinished(passes: MemoryPasses, clock: Clock) -> Unfinished:
    return Unfinished(passes=passes, groups=Groups(shards=PLAN, size=2), horizon=HORIZON, clock=clock)


def healthy(clock: Clock) -> Unfinished:
    notes = Notes()
    notes.close(clock.now())
    return unfinished(notes, clock)
