"""The refusal of tasks whose flow key has no place before their lifetime ends. Otherwise they would expire later.

The answer is certain only for a request that is refused. Places are taken when tasks are due, so a task that is
accepted may still find that others took all places in time; then it ends as EXPIRED, with the reason.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from postdate.domain import instants
from postdate.domain.errors import LimitExceeded, Unavailable
from postdate.domain.flow import FlowControl
from postdate.domain.schedule import Schedule
from postdate.domain.task import LIFETIME
from postdate.runtime.clock import Clock
from postdate.stores.flow import Flow

# The occurrences of a plan that are looked at, which takes some milliseconds.
_OCCURRENCES_MAX: Final = 1000
_REMEMBERED: Final = timedelta(minutes=1)
_REMEMBERED_MAX: Final = 10_000
# The reading of a key that was never read.
_NEVER: Final = (instants.EPOCH, None)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaceWanted:
    """A task of a request that may need a place."""

    # The flow control of the task; without a rate it needs no place.
    flow: FlowControl | None
    # The instant of the task.
    due_at: datetime

    @property
    def key(self) -> str | None:
        return None if self.flow is None or self.flow.rate is None else self.flow.key


class PlaceCheck:
    """The check of places, kept between requests. It remembers for a minute up to which instant places were taken. A
    timeline never goes back, so an old answer refuses nothing that a new one would not."""

    def __init__(self, *, flow: Flow, clock: Clock) -> None:
        self._flow = flow
        self._clock = clock
        self._known: dict[tuple[str, str], tuple[datetime, datetime | None]] = {}

    def refusals(
        self, tenant: str, wanted: Sequence[PlaceWanted], *, named: Callable[[str], str] = str
    ) -> list[LimitExceeded | None]:
        """Returns an answer for each task, in their order. Tasks of one request take places one after the other, the
        soonest first. If the timelines cannot be read, nothing is refused."""
        found: list[LimitExceeded | None] = [None] * len(wanted)
        ends = self._ends(tenant, {each.key for each in wanted if each.key is not None})
        for index, each in sorted(enumerate(wanted), key=lambda pair: pair[1].due_at):
            if each.flow is None or each.key is None or ends is None:
                continue
            begin = max(each.due_at, ends.get(each.key, each.due_at))
            if begin >= each.due_at + LIFETIME:
                found[index] = _full(begin, named)
            else:
                ends[each.key] = begin + each.flow.interval
        return found

    def _ends(self, tenant: str, keys: Iterable[str]) -> dict[str, datetime] | None:
        """Returns the instant up to which places of each key are taken, at most a minute old. A key without places is
        left out. None if the table cannot be read."""
        now, asked = self._clock.now(), list(keys)
        if len(self._known) > _REMEMBERED_MAX:
            self._known.clear()
        stale = [key for key in asked if now >= self._known.get((tenant, key), _NEVER)[0] + _REMEMBERED]
        try:
            found = self._flow.ends(tenant, stale) if stale else {}
        except Unavailable:
            return None
        self._known |= {(tenant, key): (now, found.get(key)) for key in stale}
        known = {key: self._known[tenant, key][1] for key in asked}
        return {key: ends for key, ends in known.items() if ends is not None}


def outrun(
    schedule: Schedule, flow: FlowControl | None, *, now: datetime, named: Callable[[str], str] = str
) -> LimitExceeded | None:
    """The error for a plan whose runs come so much faster than its rate that a run would wait beyond its lifetime; None
    for other plans. Only a plan with overlapping runs needs the check: other plans skip or queue a run."""
    if flow is None or flow.rate is None:
        return None
    ends = now
    for occurrence in islice(
        schedule.walk(now), min(schedule.max_runs or _OCCURRENCES_MAX, _OCCURRENCES_MAX)
    ):
        begin = max(ends, occurrence.due_at)
        if begin >= occurrence.due_at + LIFETIME:
            text = f"asks for more runs than the rate lets begin: one would wait for {LIFETIME.days} days"
            return LimitExceeded([(named("cron"), text)])
        ends = begin + flow.interval
    return None


def _full(begin: datetime, named: Callable[[str], str]) -> LimitExceeded:
    text = f"places are taken until {begin:%Y-%m-%d}, more than {LIFETIME.days} days after the task's instant"
    return LimitExceeded([(named("flow_control"), text)])
