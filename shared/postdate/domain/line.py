"""The runs before a run of a recurring task: runs that are not over, and runs that must not begin any more.

A run names the runs that must be over before it begins. If a named run ended without beginning, the runs that it waited
for may still be in progress, so the search continues with its links. The search ends at a run that has begun: all runs
before that one were over.
"""

from collections import deque
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from postdate.domain.item import Phase
from postdate.domain.task import State, Task

# Rows that one search reads at most. Each write shortens the links, so most searches read one or two rows.
LOOKED_AT_MAX: Final = 25


@dataclass(kw_only=True, slots=True)
class Line:
    """The result of a search for the runs before one run."""

    # The nearest earlier runs that are in progress or must run first.
    not_over: list[str] = field(default_factory=list)
    # True if one of these waits for an earlier run itself.
    is_queued_behind: bool = False
    # The number of runs that have not begun; complete only if the search `counts`.
    waiting: int = 0
    # The run's own number after the search.
    number: int = 0
    # Runs that could still begin and must not.
    to_end: list[Task] = field(default_factory=list)
    # Numbers of earlier runs of the same plan that ended without a beginning, because of a pause, a change or the next
    # run. Complete only if the search `counts`.
    unused: set[int] = field(default_factory=set)
    # Numbers of earlier runs of the same plan that began, wait or expired.
    used: set[int] = field(default_factory=set)
    # The greatest number of an earlier run of the same plan that began; 0 without one.
    begun: int = 0
    # Rows to read before the search can continue.
    unread: set[str] = field(default_factory=set)
    # Runs that the search did not reach, because it had read the most rows.
    left: list[str] = field(default_factory=list)

    @property
    def runs_before(self) -> int:
        """The number of earlier runs without those that have not begun. Complete only if the search `counts`."""
        # All numbers up to that of a run that began are used. A number may belong to a run that was passed over and to
        # the run in its place, so numbers are counted and not rows.
        ended = sum(self.begun < each < self.number for each in self.unused - self.used)
        return self.number - 1 - self.waiting - ended


def line(
    run: Task,
    read: Mapping[str, Task],
    asked: Set[str],
    *,
    counts: bool = False,
    most: int = LOOKED_AT_MAX,
) -> Line:
    """The line before this run, from the rows `read`. A row that was `asked` for and is missing means a run that is
    over. With `counts` the search continues past runs that wait. It reads at most `most` rows."""
    found, seen = Line(number=run.recurs.number if run.recurs else 0), {run.id}
    todo = deque((id, skipped, False) for id, skipped in links(run))
    while todo and len(seen) < most:
        id, skipped, is_far = todo.popleft()
        if id in seen:
            continue
        seen.add(id)
        row = read.get(id)
        if row is None:
            # A row that was asked for and is missing has expired: its run is over.
            if id not in asked:
                found.unread.add(id)
            continue
        began, waits = row.token > 0, row.state is State.PENDING and row.token == 0
        if row.recurs is not None and _plan(row) == _plan(run):
            is_used = began or waits or row.state is State.EXPIRED
            (found.used if is_used else found.unused).add(row.recurs.number)
            found.begun = max(found.begun, row.recurs.number) if began else found.begun
        # Such a run is superseded. It has not begun, and must end before the later run begins.
        if waits and (skipped or _plan(row) != _plan(run)):
            found.to_end.append(row)
        elif began or waits:
            # A run that was passed over but began after all has this run's number, and counts.
            found.number += skipped and run.recurs is not None and id == run.recurs.passed_over
            found.number = max(found.number, 1 + (row.recurs.number if row.recurs else 0))
            found.waiting += waits
            if row.phase is not Phase.RESTS:
                found.is_queued_behind |= is_far
                found.not_over += [] if is_far else [id]
            # A run that began waited for all runs before it, so the search need not go behind it.
            if began or (is_far and not counts):
                continue
            is_far = True
        todo.extend((each, skipped, is_far) for each, skipped in links(row))
    found.left = [id for id, _, _ in todo if id not in seen]
    return found


def links(run: Task) -> list[tuple[str, bool]]:
    """The runs that this run names. True marks the run that was not to start when this run was written."""
    if run.recurs is None:
        return []
    passed_over = [] if run.recurs.passed_over is None else [(run.recurs.passed_over, True)]
    return [*((id, False) for id in run.recurs.before), *passed_over]


def _plan(run: Task) -> int:
    return run.recurs.plan if run.recurs else 0
