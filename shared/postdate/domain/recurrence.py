"""The rows of a definition's runs.

The ids of runs follow from definition, plan and wall time: writing one twice is harmless, and so is whoever does it.
"""

import hashlib
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, takewhile
from typing import Final

from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.backlog import MISSED_TOLD_MAX, Missed, leads, occurrence
from postdate.domain.cron import Occurrence
from postdate.domain.definition import Definition, Overlap
from postdate.domain.line import Line
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.domain.task import RUN_KIND, HistoryLine, Recurs, State, Task

WOKEN_FROM_MAX: Final = 100
_STOPPED: Final = frozenset({definitions.State.PAUSED, definitions.State.CANCELLED})


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
        name = f"{definition.id} {definition.plan} {occurrence.wall.isoformat(timespec='minutes')}"
        recurs = Recurs(
            definition=definition.id,
            plan=definition.plan,
            at=occurrence.at,
            number=number,
            before=tuple(before),
            passed=passed,
            wall=occurrence.wall,
        )
        return self._row(definition, recurs, name, due_at=occurrence.due_at, now=now, why="planned")

    def out_of_turn(
        self, definition: Definition, *, name: str, due_at: datetime, now: datetime, why: str
    ) -> Task:
        """Asked for by hand: it follows nothing, and nothing follows it. Equal names make one run."""
        recurs = Recurs(definition=definition.id, plan=definition.plan, at=due_at, number=0)
        return self._row(definition, recurs, f"{definition.id} {name}", due_at=due_at, now=now, why=why)

    def since(self, run: Task, definition: Definition, line: Line, *, now: datetime) -> list[str]:
        """The ids of runs due since this one that decide about it. A run at its first call may be late: an earlier
        worker may have written some of them; the newest, if there are more than one search looks at. A run that has
        waited wakes the first of them that waits as well."""
        if not is_current(run, definition):
            return []
        own = occurrence(run, definition.schedule)
        later = takewhile(lambda each: each.due_at <= now, definition.schedule.after(own.wall))
        if run.due_at == run.planned_at:
            newest = deque(later if leads(run) else (), maxlen=MISSED_TOLD_MAX)
        elif definition.overlap is Overlap.QUEUE and not line.not_over:
            newest = deque(islice(later, WOKEN_FROM_MAX))
        else:
            return []
        return [self.run(definition, each, number=0, now=now).id for each in newest]

    def missed(self, definition: Definition, missed: Iterable[Missed], *, now: datetime) -> list[Task]:
        """A row for each occurrence that is not run."""
        rows = [(self.run(definition, each.occurrence, number=0, now=now), each.reason) for each in missed]
        return [ended(row, State.MISSED, reason, now) for row, reason in rows]

    def _row(
        self, definition: Definition, recurs: Recurs, name: str, *, due_at: datetime, now: datetime, why: str
    ) -> Task:
        template = definition.template
        unique = hashlib.sha256(name.encode()).digest()[:UNIQUE_BYTES]
        expires = None if template.expires_after is None else due_at + template.expires_after
        return transitions.register(
            id=item_id(RUN_KIND, self.shards.slot(due_at, unique), unique),
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
            why=why,
        )


def is_current(run: Task, definition: Definition) -> bool:
    """True if the run belongs to the plan that goes on."""
    recurs = run.recurs
    return recurs is not None and recurs.plan == definition.plan and definition.state not in _STOPPED


def ended(row: Task, state: State, why: str, now: datetime) -> Task:
    """At its end from the start."""
    line = HistoryLine(version=1, at=now, to=state, why=why, attempt=0)
    return replace(row, state=state, finished_at=now, history=(line,))
