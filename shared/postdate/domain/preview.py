"""The preview of a plan for its owner: the next runs with their local times, and a note where a change of clocks moved
one."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Final

from postdate.domain import instants
from postdate.domain.cron import Cron, Occurrence
from postdate.domain.errors import ValidationFailed
from postdate.domain.schedule import Schedule
from postdate.domain.wall_clock import comes_twice, shown, skipped_from

COUNT_MAX: Final = 100
_MOMENT: Final = timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    # The instant at which the run would be due, with its jitter.
    at: datetime
    # The wall time of that instant, in the zone of the cron.
    local: str
    # Says that the clocks or the jitter moved the run; None if nothing did.
    note: str | None


def preview(schedule: Schedule, *, first: datetime, count: int = 10, runs: int = 0) -> list[Planned]:
    """The next occurrences that are due at `first` or later. `runs` is the number of runs until then."""
    if not 1 <= count <= COUNT_MAX:
        raise ValidationFailed([("count", f"is 1 to {COUNT_MAX}")])
    if schedule.max_runs is not None:
        count = min(count, max(0, schedule.max_runs - runs))
    # Jitter may move an occurrence that is planned before `first` behind it.
    earliest = max(first - timedelta(seconds=schedule.jitter_seconds), instants.EPOCH) - _MOMENT
    due = (each for each in schedule.walk(earliest) if each.due_at >= first)
    return [_planned(schedule.cron, each) for each in islice(due, count)]


def _planned(cron: Cron, occurrence: Occurrence) -> Planned:
    notes = [_skipped(cron, occurrence), _twice(cron, occurrence), _jitter(occurrence)]
    return Planned(
        at=occurrence.due_at,
        local=occurrence.due_at.astimezone(cron.zone).isoformat(timespec="seconds"),
        note="; ".join(note for note in notes if note) or None,
    )


def _skipped(cron: Cron, occurrence: Occurrence) -> str | None:
    """The note about wall times that the clocks skip before this occurrence; None if they skip none of the plan."""
    there = shown(cron.zone, occurrence.at)
    start = skipped_from(cron.zone, occurrence.at)
    walls = [*takewhile(lambda wall: wall < there, cron.walls(start))] if start < there else []
    if not walls:
        return None
    same_day = walls[0].date() == there.date()
    first, last, runs_at = (
        f"{wall:%H:%M}" if same_day else f"{wall:%Y-%m-%d %H:%M}" for wall in (walls[0], walls[-1], there)
    )
    which = f"{first} does not exist" if len(walls) == 1 else f"{first} to {last} do not exist"
    what = f"runs once, at {runs_at}" if len(walls) > 1 or cron.names(there) else f"runs at {runs_at}"
    return f"{which}{' on this day' if same_day else ''}: {what}"


def _twice(cron: Cron, occurrence: Occurrence) -> str | None:
    if not comes_twice(cron.zone, occurrence.wall):
        return None
    return f"{occurrence.wall:%H:%M} comes twice on this day: runs the first time"


def _jitter(occurrence: Occurrence) -> str | None:
    jitter = occurrence.due_at - occurrence.at
    return f"{jitter // _SECOND} s of jitter" if jitter else None
