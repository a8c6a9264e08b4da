"""What becomes of occurrences that passed while nobody looked."""

from collections import deque
from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from postdate.domain.cron import Occurrence
from postdate.domain.schedule import Schedule

CAUGHT_UP_MAX: Final = 1000
WINDOW_MAX: Final = timedelta(days=31)
# So late an occurrence may be and still not be called missed: it runs, whatever the policy.
GRACE: Final = timedelta(minutes=1)
_MOMENT: Final = timedelta(microseconds=1)


class CatchUp(StrEnum):
    LATEST = "latest"
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Missed:
    """An occurrence that is not run, and why."""

    occurrence: Occurrence
    reason: str


def missed(
    schedule: Schedule,
    *,
    last: datetime,
    until: datetime,
    now: datetime,
    runs: int,
    policy: CatchUp,
    window: timedelta,
    running: Container[datetime] = (),
    kept_back: Container[datetime] = (),
) -> tuple[tuple[Occurrence, ...], Iterator[Missed]]:
    """Of the occurrences later than `last` that are due by `until`: which to run now, and which only to note, both in
    order.

    Within the window, `latest` runs the newest of them and `all` the newest 1,000; those planned at an instant that is
    `running` run already, and those `kept_back` are not run any more. With `max_runs`, those that are left
    are the earliest of these, and what comes after the last of all is no occurrence any more.
    The notes are made while they are read: a plan may have missed more than anyone holds at once.
    """
    allowed = GRACE if policy is CatchUp.NONE else max(window, GRACE)
    since = now - allowed - timedelta(seconds=schedule.jitter_seconds) - _MOMENT
    recent = (
        each
        for each in _due(schedule, max(last, since), until)
        if now - each.due_at <= allowed and each.at not in kept_back
    )
    chosen = deque(recent, maxlen=1 if policy is CatchUp.LATEST else CAUGHT_UP_MAX)
    run_already = {each for each in _due(schedule, last, until) if each.at in running} if running else set()
    to_run = tuple(sorted({*chosen, *run_already}, key=_planned_for))
    if schedule.max_runs is not None and len(to_run) >= (left := max(0, schedule.max_runs - runs)):
        others = [each for each in to_run if each not in run_already]
        to_run = tuple(sorted([*run_already, *others[: max(0, left - len(run_already))]], key=_planned_for))
        until = to_run[-1].due_at if to_run else last

    def notes() -> Iterator[Missed]:
        run = {occurrence.at for occurrence in to_run}
        for each in _due(schedule, last, until):
            if each.at not in run:
                yield Missed(occurrence=each, reason=why(now - each.due_at))

    def why(late: timedelta) -> str:
        if policy is CatchUp.NONE:
            return "missed, and catch_up is none"
        if late > allowed:
            return f"missed, and later than the catch-up window of {allowed // timedelta(seconds=1)} seconds"
        if len(chosen) == CAUGHT_UP_MAX:
            return f"missed, with more than {CAUGHT_UP_MAX} later ones to catch up on"
        if to_run:
            return f"missed, and the one planned at {to_run[-1].at.isoformat()} runs in its place"
        return "missed"

    return to_run, notes()


def _due(schedule: Schedule, last: datetime, until: datetime) -> Iterator[Occurrence]:
    for occurrence in schedule.walk(last):
        if occurrence.due_at > until:
            return
        yield occurrence


def _planned_for(occurrence: Occurrence) -> datetime:
    return occurrence.at
