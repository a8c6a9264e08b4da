"""The minutes that lists of PENDING and RUNNING items read: from some minutes ago on, and those earlier minutes in
which the sweep found items that wait or run.

The sweep has closed a minute when all calls for it were sent. Its note of a closed minute says whether items still
waited for their first attempt, and an audited minute has none that waits or runs. So an item stays in these lists
however late it is, and the usual page reads no minute that is over for long.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from postdate.domain import instants
from postdate.domain.sweeping import AUDITED_AFTER, Groups, Horizon, Stage, SweepProgress
from postdate.runtime.cached import Cached
from postdate.runtime.clock import Clock
from postdate.stores.passes import Passes

# Every list looks at these last minutes, whatever the sweep has noted.
RECENT: Final = timedelta(minutes=10)
# One read of the passes serves all lists of a copy of the function for so long.
KEPT: Final = timedelta(seconds=30)
SPANS_MAX: Final = 5


class Between(NamedTuple):
    """`since` is the first instant, `until` the first one after the last."""

    since: datetime | None
    until: datetime | None

    def cut(self, since: datetime | None, until: datetime | None) -> "Between | None":
        """The part that lies between these instants too; None if nothing does."""
        first = max((each for each in (self.since, since) if each is not None), default=None)
        last = min((each for each in (self.until, until) if each is not None), default=None)
        return None if first is not None and last is not None and last <= first else Between(first, last)


@dataclass(frozen=True, kw_only=True, slots=True)
class Minutes:
    """The minutes in which items may wait for their first attempt, and those in which a first attempt may still run.
    Both are in order and without overlaps."""

    # Spans with items that may wait for their first attempt.
    waiting: tuple[Between, ...]
    # Spans with items whose first attempt may still run.
    running: tuple[Between, ...]


class Unfinished:
    def __init__(self, *, passes: Passes, groups: Groups, horizon: Horizon, clock: Clock) -> None:
        self._passes = passes
        self._groups = groups
        self._horizon = horizon
        self._clock = clock
        self._cached = Cached(lambda _: self._read(), keep=KEPT, clock=clock)

    def minutes(self) -> Minutes:
        """The minutes as of at most half a minute ago. Minutes that ended since are still among them."""
        return self._cached.get("") or EVERY

    def _read(self) -> Minutes:
        """Reads the notes of the sweep. A minute without a believed note of each group counts as unfinished."""
        mark, now = self._passes.watermark(), self._clock.now()
        if mark is None:
            return EVERY
        recent = instants.minute_of(now - RECENT)
        old = range(min(mark.minute, instants.minute_of(now - AUDITED_AFTER)) + 1, recent)
        done: dict[tuple[int, int], SweepProgress] = {}
        for each in self._passes.between(old.start, old.stop - 1):
            if self._horizon.believed(each, now, epoch=mark.epoch) is not None:
                done[each.minute, each.group] = each

        def those(holds: Callable[[SweepProgress | None], bool]) -> tuple[Between, ...]:
            return _spans(
                [
                    *(
                        minute
                        for minute in old
                        if any(
                            holds(done.get((minute, group))) for group in range(self._groups.count(minute))
                        )
                    ),
                    recent,
                ]
            )

        return Minutes(waiting=those(_may_wait), running=those(_may_run))


EVERY: Final = Minutes(waiting=(Between(None, None),), running=(Between(None, None),))


def _may_wait(done: SweepProgress | None) -> bool:
    return done is None or done.stage is Stage.OPEN or (done.stage is Stage.CLOSE and done.waiting > 0)


def _may_run(done: SweepProgress | None) -> bool:
    return done is None or done.stage is not Stage.AUDIT


def _spans(minutes: list[int]) -> tuple[Between, ...]:
    """The last span has no end. They are few, so that a page makes few queries: near ones are joined."""
    gap, joined = 1, _joined(minutes, 1)
    while len(joined) > SPANS_MAX:
        gap *= 2
        joined = _joined(minutes, gap)
    spans = [Between(instants.start_of(first), instants.end_of(last)) for first, last in joined]
    return (*spans[:-1], Between(spans[-1].since, None))


def _joined(minutes: Iterable[int], gap: int) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for minute in minutes:
        if joined and minute - joined[-1][1] <= gap:
            joined[-1] = (joined[-1][0], minute)
        else:
            joined.append((minute, minute))
    return joined
