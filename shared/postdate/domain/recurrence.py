"""The rows of a definition's runs.

The ids of runs follow from definition, plan and wall time: writing one twice is harmless, and so is whoever does it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from itertools import islice, takewhile
from typing import Final

from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.backlog import MISSED_TOLD_MAX, Elapsed, Entry, leads, occurrence
from postdate.domain.cron import Occurrence
from postdate.domain.definition import Definition, Overlap
from postdate.domain.line import Line
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import RUN_KIND, HistoryLine, Recurs, State, Task

WOKEN_FROM_MAX: Final = 100
_IDS_KEPT: Final = 2 * MISSED_TOLD_MAX
_STOPPED: Final = frozenset({definitions.State.PAUSED, definitions.State.CANCELLED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Since:
    """`elapsed` is what the calendar names since a run that is at its first call. `ids` are the runs to read."""

    elapsed: Elapsed | None = None
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Runs:
    """Makes the rows of runs. `shards` says where they live."""

    shards: ShardPlan

    def first(self, definition: Definition, *, now: datetime) -> Task | None:
        """The run that begins a chain; None when the plan is at its end."""
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
        passed: str | None = None,
        now: datetime,
    ) -> Task:
        recurs = Recurs(
            definition=definition.id,
            plan=definition.plan,
            at=occurrence.at,
            number=number,
            before=tuple(before),
            passed=passed,
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
        """Asked for by hand: it follows nothing, and nothing follows it. Equal names make one run. It is at least as
        deep as its task."""
        recurs = Recurs(definition=definition.id, plan=definition.plan, at=due_at, number=0)
        id = _run_id(self.shards, f"{definition.id} {name}", due_at)
        run = self._row(definition, recurs, id, due_at=due_at, now=now, why=why)
        return replace(run, depth=max(run.depth, depth))

    def backfilled(
        self, definition: Definition, occurrence: Occurrence, *, now: datetime, depth: int = 0
    ) -> Task:
        """A run now for an instant gone by. It lives in the minute it was planned for, so its id follows from its wall
        time; it is due now, and its deadline counts from now: from its own instant it would have passed."""
        name = f"backfill {occurrence.wall.isoformat(timespec='minutes')}"
        run = self.out_of_turn(
            definition, name=name, due_at=occurrence.at, now=now, why="backfilled", depth=depth
        )
        after = definition.template.expires_after
        expires_at = None if after is None else now + after
        return replace(run, due_at=now, moved_at=now, expires_at=expires_at)

    def since(self, run: Task, definition: Definition, line: Line, *, now: datetime) -> Since:
        """What is due since this run and decides about it. A run at its first call may be late: an earlier worker may
        have written some of the runs since, and the newest 1,000 of them are read. A run that has waited wakes the
        first of them that waits as well."""
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
        entry: Entry,
        *,
        number: int,
        before: Sequence[str],
        passed: str | None,
        now: datetime,
    ) -> Task:
        """The row of an entry of a backlog. A missed one has no number, and nothing is before it."""
        if entry.state is State.MISSED:
            row = self.run(definition, entry.occurrence, number=0, now=now)
        else:
            row = self.run(definition, entry.occurrence, number=number, before=before, passed=passed, now=now)
        return row if entry.why is None else _ended(row, entry.state, entry.why, now)

    def _row(
        self, definition: Definition, recurs: Recurs, id: str, *, due_at: datetime, now: datetime, why: str
    ) -> Task:
        template = definition.template
        expires = None if template.expires_after is None else due_at + template.expires_after
        return transitions.register(
            id=id,
            tenant=definition.tenant,
            due_at=due_at,
            now=now,
            destination=template.destination,
            payload=template.payload,
            retry=template.retry,
            timeout_seconds=template.timeout_seconds,
            name=definition.name,
            tags=definition.tags,
            ack=template.ack,
            expires_at=expires,
            recurs=recurs,
            flow=template.flow,
            depth=template.depth,
            why=why,
        )


def is_current(run: Task, definition: Definition) -> bool:
    """True if the run belongs to the plan that goes on."""
    recurs = run.recurs
    return recurs is not None and recurs.plan == definition.plan and definition.state not in _STOPPED


def _ended(row: Task, state: State, why: str, now: datetime) -> Task:
    """At its end from the start."""
    line = HistoryLine(version=1, at=now, to=state, why=why, attempt=0)
    return replace(row, state=state, finished_at=now, history=(line,))


@lru_cache(maxsize=_IDS_KEPT)
def _run_id(shards: ShardPlan, name: str, due_at: datetime) -> str:
    """A late run reads the rows of its backlog by their ids, and then writes rows with the same ids."""
    unique = hashlib.sha256(name.encode()).digest()[:UNIQUE_BYTES]
    return item_id(RUN_KIND, shards.slot(due_at, unique), unique)
