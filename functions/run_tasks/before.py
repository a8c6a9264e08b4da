"""Reads the rows that decide about runs in turn: the line before each run, and the runs that were due since.

A run is read again with its line: a worker that stood still since it had the run may find it begun and ended, and must
not write what would have followed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from postdate.domain.definition import Definition, Overlap
from postdate.domain.following import Around, ended_first
from postdate.domain.line import Line
from postdate.domain.recurrence import Runs, Since, is_current
from postdate.domain.task import Task
from postdate.stores.lines import read_lines
from postdate.stores.rows import FoundRows
from postdate.stores.tasks import Tasks, Written


@dataclass(frozen=True, kw_only=True, slots=True)
class Before:
    """The rows around a run, or the reason why nobody can decide about the run."""

    # The rows; not to be used with a reason.
    around: Around = field(default_factory=Around)
    # CONFLICT: the run or one before it has changed. UNAVAILABLE: a row cannot be read now. REFUSED: only
    # newer code can read a row. None if the rows are complete.
    wrong: Written | None = None


def look_back(
    tasks: Tasks, runs: Runs, leading: Sequence[Task], plans: Mapping[str, Definition], *, now: datetime
) -> dict[str, Before]:
    """Returns, by the id of each run, the rows that decide about the run. Raises Unavailable when nothing can be
    read."""
    if not leading:
        return {}
    counted = {
        run.id
        for run in leading
        if run.due_at == run.planned_at and (plan := plans.get(run.task_id)) and plan.overlap is Overlap.QUEUE
    }
    # Rows first: the runs as they are now, and the runs before them.
    read, lines = read_lines(tasks, leading, counted=counted)
    ended = _ended_first(tasks, leading, plans, lines, now)
    # Then the calendar, and the rows of later occurrences that an earlier late worker may have written.
    since = {
        run.id: runs.since(run, plan, lines[run.id], now=now) if (plan := plans.get(run.task_id)) else Since()
        for run in leading
    }
    wanted = {id for each in since.values() for id in each.ids}
    later = tasks.get_many(wanted) if wanted else FoundRows[Task]()
    found = {}
    for run in leading:
        wrong = ended.get(run.id)
        if not _is_still(run, read.get(run.id)) or (
            wrong is None and lines[run.id].left and lines[run.id].to_end
        ):
            # The run is another one by now, or more runs have to end first than one search reaches.
            wrong = Written.CONFLICT
        elif lines[run.id].unread or not later.unreadable.isdisjoint(since[run.id].ids):
            wrong = Written.REFUSED
        rows = tuple(later[id] for id in since[run.id].ids if id in later)
        around = Around(line=lines[run.id], elapsed=since[run.id].elapsed, since=rows)
        found[run.id] = Before(around=around, wrong=wrong)
    return found


def _ended_first(
    tasks: Tasks,
    leading: Sequence[Task],
    plans: Mapping[str, Definition],
    lines: Mapping[str, Line],
    now: datetime,
) -> dict[str, Written]:
    """Ends earlier runs that must not run any more, because later runs begin now. Returns the later runs for which this
    failed, each with the answer: the earlier run has begun meanwhile, or cannot be written now."""
    changes, needed = {}, []
    for run in leading:
        plan = plans.get(run.task_id)
        for each in lines[run.id].to_end if plan and is_current(run, plan) else ():
            if plan and (change := ended_first(each, plan, lines[run.id], now=now)):
                changes[each.id] = change
                needed.append((run.id, each.id))
    done = dict(zip(changes, tasks.commit(list(changes.values())) if changes else (), strict=True))
    return {run: done[each] for run, each in needed if done[each] is not Written.DONE}


def _is_still(run: Task, now: Task | None) -> bool:
    return now is not None and now.version == run.version
