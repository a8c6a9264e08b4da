"""The runs before a run of a recurring task: which of them are not over, and which can still begin and must not.

A run names the runs that have to be over before it. If one of these ended without beginning, those that it waited for
may still be on, so the search goes on from its own links. A run that has begun ends the search: all before it were over
then.
"""

from collections import deque
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Final

from postdate.domain.item import Phase
from postdate.domain.task import State, Task

# Rows that one search looks at. Links are shortened with each write, so usually it is one or two.
LOOKED_AT_MAX: Final = 25


@dataclass(kw_only=True, slots=True)
class Line:
    """`not_over` are the nearest runs before it that are on, or are to run first; it `rests` if one of those waits for
    others itself. `waiting` counts all that have not begun, where the search was to count them. `number` is the run's
    own number as it turned out. `to_end` are runs that are not to run any more and could still begin. `unread` are the
    rows to read before the search can go on, `left` those that one search does not come to."""

    not_over: list[str] = field(default_factory=list)
    rests: bool = False
    waiting: int = 0
    number: int = 0
    to_end: list[Task] = field(default_factory=list)
    unread: set[str] = field(default_factory=set)
    left: list[str] = field(default_factory=list)


def line(
    run: Task,
    read: Mapping[str, Task],
    asked: Set[str],
    *,
    counts: bool = False,
    most: int = LOOKED_AT_MAX,
) -> Line:
    """The line before this run, from rows that were `read`; one that was `asked` for and is not there is over. A search
    that `counts` those that wait goes on past them. None looks at more than `most` rows."""
    found, seen = Line(number=run.recurs.number if run.recurs else 0), {run.id}
    todo = deque((id, passed, False) for id, passed in links(run))
    while todo and len(seen) < most:
        id, passed, is_far = todo.popleft()
        if id in seen:
            continue
        seen.add(id)
        row = read.get(id)
        if row is None:
            if id not in asked:
                found.unread.add(id)
            continue
        began, waits = row.token > 0, row.state is State.PENDING and row.token == 0
        if waits and (passed or _plan(row) != _plan(run)):
            found.to_end.append(row)
        elif began or waits:
            # One that was passed over and began after all has the same number, and counts.
            found.number += passed and run.recurs is not None and id == run.recurs.passed
            found.number = max(found.number, 1 + (row.recurs.number if row.recurs else 0))
            found.waiting += waits
            if row.phase is not Phase.RESTS:
                found.rests |= is_far
                found.not_over += [] if is_far else [id]
            if began or (is_far and not counts):
                continue
            is_far = True
        todo.extend((each, skipped, is_far) for each, skipped in links(row))
    found.left = [id for id, _, _ in todo if id not in seen]
    return found


def links(run: Task) -> list[tuple[str, bool]]:
    """The runs that this one names; True for the one that was not to run when this one was written."""
    if run.recurs is None:
        return []
    passed = [] if run.recurs.passed is None else [(run.recurs.passed, True)]
    return [*((id, False) for id in run.recurs.before), *passed]


def _plan(run: Task) -> int:
    return run.recurs.plan if run.recurs else 0
