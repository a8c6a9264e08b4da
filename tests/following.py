"""Follow-up of a run, decided from rows as a worker would have read them."""

from collections.abc import Iterable
from datetime import datetime

from postdate.domain import following
from postdate.domain.definition import Definition, Overlap
from postdate.domain.following import Around, Followed
from postdate.domain.line import line
from postdate.domain.recurrence import Runs
from postdate.domain.task import Task


def follow(
    runs: Runs,
    run: Task,
    definition: Definition | None,
    *known: Task,
    since: Iterable[Task] = (),
    now: datetime,
) -> Followed:
    """`known` are runs before it."""
    counts = definition is not None and definition.overlap is Overlap.QUEUE and run.due_at == run.planned_at
    found = line(run, {each.id: each for each in known}, set(), counts=counts)
    return following.follow(run, definition, Around(line=found, since=tuple(since)), runs=runs, now=now)
