"""The chain of runs behind a recurring task, as the API begins it and reads it."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import transitions
from postdate.domain.definition import Definition
from postdate.domain.definition import State as DefinitionState
from postdate.domain.errors import Conflict, InvalidState, Unavailable
from postdate.domain.recurrence import CANCELLED, CHANGED, Runs
from postdate.domain.task import State, Task
from postdate.stores.tasks import Tasks, Written

_TRIES: Final = 5
_LOOKED_AT: Final = 10
_NOT_BEGUN: Final = frozenset({State.PENDING, State.SKIPPED, State.MISSED, State.CANCELLED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Chain:
    tasks: Tasks
    runs: Runs

    def first(self, definition: Definition, *, now: datetime) -> Task | None:
        """The run that would begin the chain; None when no run is left."""
        return self.runs.first(definition, now=now)

    def begin(self, definition: Definition, *, now: datetime) -> Task | None:
        """Writes the run that begins the chain; None when no run is left.

        It goes before its definition's row. A run whose definition is missing, or has another plan, is void when its
        instant comes: what a crash in between leaves behind begins nothing. The other way round it would leave a
        definition without a run, and nothing would ever look at that one again. A run that was voided like this
        before the definition came is passed over: then the one after it begins the chain.
        """
        after = now
        for _ in range(_TRIES):
            occurrence = definition.schedule.next(after, runs=definition.runs_before)
            if occurrence is None:
                return None
            number = definition.runs_before + 1
            run = self.runs.run(definition, occurrence, number=number, previous=None, now=now)
            (written,) = self.tasks.add([run])
            if written is Written.DONE:
                return run
            if written is not Written.CONFLICT:
                raise Unavailable
            stored = self.tasks.get(run.id)
            if stored is not None and stored.state is not State.CANCELLED:
                return stored
            after = occurrence.at
        raise Conflict

    def void(self, definition: Definition, *, now: datetime) -> None:
        """Ends the run to come of a plan that is no more. Its own call would do that as well, when it is due: but
        nobody should have to read of a run that will never be."""
        with suppress(Unavailable, InvalidState):
            run = self._coming(definition, now=now)
            change = None if run is None else transitions.cancel(run, now=now, why=CHANGED)
            self.tasks.commit([change] if change else [])

    def stop(self, definition: Definition, *, now: datetime) -> None:
        """Ends the run to come, and those of the newest that wait, for a task that was cancelled. They and all others
        would end like this when their instant comes: but what is looked at now should not look as if it waited."""
        with suppress(Unavailable):
            coming = self._coming(definition, now=now)
            known = {run.id: run for run in (*self.newest(definition), *([coming] if coming else []))}
            changes = [
                transitions.cancel(run, now=now, why=CANCELLED) for run in known.values() if run.state.waits
            ]
            self.tasks.commit([change for change in changes if change])

    def newest(self, definition: Definition) -> Sequence[Task]:
        """Its newest runs, the newest first: what the listing shows, a moment behind the truth."""
        ids = self.tasks.runs_back(definition.tenant, definition.id, before="", limit=_LOOKED_AT)
        found = self.tasks.get_many(ids)
        return [found[id] for id in ids if id in found]

    def made(self, definition: Definition, *, now: datetime) -> int:
        """How many of its runs have begun. The run to come knows, and its id is known without any listing."""
        coming = self._coming(definition, now=now)
        return begun(definition, [*self.newest(definition), *([coming] if coming else [])])

    def _coming(self, definition: Definition, *, now: datetime) -> Task | None:
        first = self.runs.first(definition, now=now)
        return None if first is None else self.tasks.get(first.id)


def begun(definition: Definition, runs: Iterable[Task]) -> int:
    """How many runs have begun, as far as these tell: a run's number counts those before it."""
    numbers = (
        run.recurs.number - (run.state in _NOT_BEGUN)
        for run in runs
        if run.recurs is not None and run.recurs.plan == definition.plan and run.recurs.number > 0
    )
    return max(definition.runs_before, *numbers, 0)


def next_run_at(definition: Definition, *, runs: Iterable[Task], now: datetime) -> datetime | None:
    """When its next run is due, from the plan alone: nothing was planned before the plan was made."""
    plan = definition.schedule
    if definition.state is not DefinitionState.ACTIVE:
        return None
    if plan.max_runs is not None and begun(definition, runs) >= plan.max_runs:
        return None
    after = max(definition.changed_at, now - timedelta(seconds=plan.jitter_seconds))
    return next((each.due_at for each in plan.walk(after) if each.due_at > now), None)
