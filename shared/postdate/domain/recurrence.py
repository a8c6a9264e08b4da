"""The rows of a definition's runs.

The id of a run follows from definition, plan and wall time. Therefore two workers, or two tries, write the same row.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice, takewhile
from typing import Final

from postdate.domain import definition as definitions
from postdate.domain import task_requests
from postdate.domain.backlog import MISSED_TOLD_MAX, Elapsed, Fate, leads, occurrence
from postdate.domain.cron import Occurrence
from postdate.domain.definition import Definition, Overlap
from postdate.domain.line import Line
from postdate.domain.recurs import Recurs
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan
from postdate.domain.task import RUN_KIND, State, Task

WOKEN_FROM_MAX: Final = 100
_IDS_KEPT: Final = 2 * MISSED_TOLD_MAX
_STOPPED: Final = frozenset({definitions.State.PAUSED, definitions.State.CANCELLED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Since:
    """The occurrences since a run, and the rows to read about them."""

    # The occurrences since the run's own; None unless the run is at its first call.
    elapsed: Elapsed | None = None
    # The ids of the rows to read; empty if none decides.
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """Makes the rows of runs."""

    # The number of shards of each minute; a part of the id of a run.
    shards: ShardPlan

    def first(self, definition: Definition, *, now: datetime) -> Task | None:
        """The run that begins a chain; None if the plan has no occurrence left."""
        occurrence = definition.schedule.next(now, runs=definition.runs_before)
        return None if occurrence is None else self.begins(definition, occurrence, now=now)

    def begins(self, definition: Definition, occurrence: Occurrence, *, now: datetime) -> Task:
        number = definition.runs_before + 1
        return self.run(definition, occurrence, number=number, before=definition.before, now=now)

    def run(
        self,
        definition: Definition,
        occurrence: Occurrence,
        *,
        number: int,
        before: Sequence[str] = (),
        passed_over: str | None = None,
        now: datetime,
    ) -> Task:
        """The row of a planned occurrence."""
        recurs = Recurs(
            definition=definition.id,
            plan=definition.plan,
            at=occurrence.at,
            number=number,
            before=tuple(before),
            passed_over=passed_over,
            wall=occurrence.wall,
        )
        id = self.id(definition, occurrence)
        return self._row(definition, recurs, id, due_at=occurrence.due_at, now=now, why="planned")

    def id(self, definition: Definition, occurrence: Occurrence) -> str:
        """The id of an occurrence's run."""
        name = f"{definition.id} {definition.plan} {occurrence.wall.isoformat(timespec='minutes')}"
        return _run_id(self.shards, name, occurrence.due_at)

    def out_of_turn(
        self, definition: Definition, *, name: str, due_at: datetime, now: datetime, why: str, depth: int = 0
    ) -> Task:
        """A run beside the plan, on request: no run follows it, and it follows no run. Equal names make one run. Its
        depth is at least that of its task."""
        recurs = Recurs(definition=definition.id, plan=definition.plan, at=due_at, number=0)
        id = _run_id(self.shards, f"{definition.id} {name}", due_at)
        run = self._row(definition, recurs, id, due_at=due_at, now=now, why=why)
        return replace(run, depth=max(run.depth, depth))

    def backfilled(
        self, definition: Definition, occurrence: Occurrence, *, now: datetime, depth: int = 0
    ) -> Task:
        """A run now for a past occurrence. Its slot is in the minute of the occurrence, so its id follows from the wall
        time. It is due now, and its deadline counts from now, because counted from the occurrence it would have
        passed."""
        name = f"backfill {occurrence.wall.isoformat(timespec='minutes')}"
        run = self.out_of_turn(
            definition, name=name, due_at=occurrence.at, now=now, why="backfilled", depth=depth
        )
        after = definition.template.expires_after
        expires_at = None if after is None else now + after
        return replace(run, due_at=now, moved_at=now, expires_at=expires_at)

    def since(self, run: Task, definition: Definition, line: Line, *, now: datetime) -> Since:
        """The occurrences after the run's own, and the ids of the rows to read before the decision about the run.

        At its first call (`due_at` is `planned_at`) the run may be late. An earlier worker may have written some of the
        later runs, so the newest 1,000 of these are read. At a later call, a run of a queue wakes the next run that
        waits, so that row is read. A run of an older plan, or of a paused or cancelled definition, needs no row."""
        if not is_current(run, definition):
            return Since()
        own = occurrence(run, definition.schedule)
        if run.due_at == run.planned_at:
            elapsed = Elapsed.of(definition.schedule, own, now=now)
            newest = [*elapsed.since][-MISSED_TOLD_MAX:] if leads(run) else []
            return Since(elapsed=elapsed, ids=tuple(self.id(definition, each) for each in newest))
        if definition.overlap is not Overlap.QUEUE or line.not_over:
            return Since()
        later = takewhile(lambda each: each.due_at <= now, definition.schedule.after(own.wall))
        return Since(ids=tuple(self.id(definition, each) for each in islice(later, WOKEN_FROM_MAX)))

    def entered(
        self,
        definition: Definition,
        entry: Fate,
        *,
        number: int,
        before: Sequence[str],
        passed_over: str | None,
        now: datetime,
    ) -> Task:
        """The row of an entry of a backlog. A missed occurrence has no number and no run before it."""
        if entry.state is State.MISSED:
            row = self.run(definition, entry.occurrence, number=0, now=now)
        else:
            row = self.run(
                definition, entry.occurrence, number=number, before=before, passed_over=passed_over, now=now
            )
        return row if entry.why is None else task_requests.keep_back(row, entry.state, entry.why)

    def _row(
        self, definition: Definition, recurs: Recurs, id: str, *, due_at: datetime, now: datetime, why: str
    ) -> Task:
        run = task_requests.register(
            id=id,
            tenant=definition.tenant,
            due_at=due_at,
            now=now,
            template=definition.template,
            recurs=recurs,
            why=why,
        )
        return replace(run, name=definition.name, tags=definition.tags)


def is_current(run: Task, definition: Definition) -> bool:
    """True if the run belongs to the current plan of an active definition."""
    recurs = run.recurs
    return recurs is not None and recurs.plan == definition.plan and definition.state not in _STOPPED


@lru_cache(maxsize=_IDS_KEPT)
def _run_id(shards: ShardPlan, name: str, due_at: datetime) -> str:
    """Cached, because a late run reads the rows of its backlog by id and then writes rows with the same ids."""
    unique = hashlib.sha256(name.encode()).digest()[:UNIQUE_BYTES]
    return shards.item_id(RUN_KIND, due_at, unique)
