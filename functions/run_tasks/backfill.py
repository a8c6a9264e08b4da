"""Steps of backfills. A backfill is one of the destinations inside Postdate.

A step that breaks off is simply repeated: it reads which of its runs there are, writes the others, calls all that
wait, writes the step after it and calls that one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from functions.run_tasks.inside import InsideTarget
from postdate.domain import definition as definitions
from postdate.domain.backfill import BackfillStep, task_of
from postdate.domain.definition import Definition
from postdate.domain.due import Due, Via, pack
from postdate.domain.errors import InvalidState, Unavailable
from postdate.domain.recurrence import Runs
from postdate.domain.task import State, Task
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Tasks, Written
from postdate.targets.base import Delivery

# After so many the time is looked at.
_PART: Final = 5
_THERE: Final = frozenset({Written.DONE, Written.CONFLICT})


@dataclass(frozen=True, kw_only=True, slots=True)
class BackfillTarget(InsideTarget):
    """Carries out the steps of backfills."""

    definitions: Definitions
    tasks: Tasks
    runs: Runs
    queue: Queue
    # The time after the end of a task for which its runs may still be made.
    made_for: timedelta

    def carry_out(self, delivery: Delivery) -> None:
        until = self.clock.now() + timedelta(seconds=delivery.timeout_seconds)
        self._take(BackfillStep.read(delivery.payload.decode()), until, delivery.depth)

    def _take(self, step: BackfillStep, until: datetime, depth: int) -> None:
        definition = self.definitions.get(step.schedule.definition_id)
        if definition is None:
            raise InvalidState(definitions.State.CANCELLED, "its task is gone")
        definitions.refuse_ended(definition, "backfilled", made_for=self.made_for, now=self.clock.now())
        occurrences = step.occurrences()
        now = self.clock.now()
        self._write(
            [self.runs.backfilled(definition, each, now=now, depth=depth) for each in occurrences], until
        )
        following = step.following(occurrences)
        if following is not None:
            self._write([self._row(following, definition, depth)], until)

    def _row(self, step: BackfillStep, definition: Definition, depth: int) -> Task:
        return task_of(step, definition, shards=self.runs.shards, now=self.clock.now(), depth=depth)

    def _write(self, rows: Sequence[Task], until: datetime) -> None:
        """Rows first, then their calls. A row that was written before is called again: its writer may have crashed.
        Raises Unavailable at `until`: what is written by then is not written again."""
        found = self.tasks.get_many(row.id for row in rows)
        missing = [row for row in rows if row.id not in found and row.id not in found.unreadable]
        for start in range(0, len(missing), _PART):
            if self.clock.now() >= until:
                raise Unavailable
            if not _THERE.issuperset(self.tasks.add(missing[start : start + _PART])):
                raise Unavailable
        # Calls for all rows that wait, also for those of an earlier try.
        waiting = [*missing, *(row for row in found.values() if row.state is State.PENDING)]
        if waiting:
            self.queue.send(pack(((row.tenant, Due.of(row)) for row in waiting), Via.REGISTRATION))
