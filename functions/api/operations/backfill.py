"""Backfills: asked for here, carried out step by step by the workers, and told here as one operation.

The first step's row is the promise; its call comes after it. If the call is lost, the closing pass finds the row.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice

from functions.api import idempotency
from postdate.domain import backfill as rules
from postdate.domain import definition as definitions
from postdate.domain.backfill import BackfillProgress, BackfillStep
from postdate.domain.definition import Definition
from postdate.domain.errors import (
    IdempotencyKeyReused,
    LimitExceeded,
    NotFound,
    Unavailable,
    ValidationFailed,
)
from postdate.domain.item import kind_of
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Horizon
from postdate.domain.task import OPERATION_KIND, Task
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.tasks import Tasks, Written
from postdate.use_cases import calls


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfill:
    """A backfill as it is now."""

    # The id of the backfill and of its first step.
    id: str
    # The recurring task.
    task_id: str
    # The instant of the request.
    asked_at: datetime
    # The task that makes the first runs. Each step writes the task of the next one.
    step: BackfillStep
    # The progress of all steps.
    progress: BackfillProgress
    # True if an earlier request with the same key asked for it.
    replayed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfills:
    """Begins backfills and tells of them."""

    tasks: Tasks
    shards: ShardPlan
    reservations: Reservations
    # The time after the end of a task for which its runs may still be made.
    made_for: timedelta
    queue: Queue
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]

    def ask(
        self,
        definition: Definition,
        *,
        first: datetime,
        last: datetime,
        key: str | None,
        depth: int = 0,
    ) -> Backfill:
        """Begins to run what was planned from `first` to `last`, both included. With a key, one operation however often
        it is asked for. Another operation over the same time makes no run twice."""
        now = self.clock.now()
        step = self._first(definition, first, last, now)
        if key is None:
            return self._begun(step, definition, now, depth)
        wanted = Reservation(
            tenant=definition.tenant,
            key=f"backfill {definition.id} {key}",
            fingerprint=f"{first.isoformat()} {last.isoformat()}",
            item_id=step.operation,
            due_at=now,
            created_at=now,
            keep_until=now + idempotency.KEY_KEPT,
        )
        reservation = self.reservations.reserve(wanted, now=now)
        if reservation.fingerprint != wanted.fingerprint:
            raise IdempotencyKeyReused
        # A step that an earlier request began has this id too, so it is not begun twice.
        return self._begun(
            replace(step, operation=reservation.item_id),
            definition,
            now,
            depth,
            replayed=reservation.item_id != step.operation,
        )

    def load(self, tenant: str, id: str) -> Backfill:
        task = self.tasks.get(id) if kind_of(id) == OPERATION_KIND else None
        if task is None or task.tenant != tenant:
            raise NotFound(f"there is no operation {id}")
        return self._answer(task)

    def _first(self, definition: Definition, first: datetime, last: datetime, now: datetime) -> BackfillStep:
        """The first step of a request. Raises the error of a request that makes no backfill."""
        definitions.refuse_ended(definition, "backfilled", made_for=self.made_for, now=now)
        if last < first:
            raise ValidationFailed([("to", "is before from")])
        if last > now:
            raise ValidationFailed([("to", "is in the future")])
        planned = rules.planned(definition.schedule, first, last)
        total = sum(1 for _ in islice(planned, rules.RUNS_MAX + 1))
        if total > rules.RUNS_MAX:
            raise LimitExceeded(
                [("from", f"these are more than {rules.RUNS_MAX} runs: ask for less at once")]
            )
        unique = self.unique()
        return BackfillStep(
            operation=self.shards.item_id(OPERATION_KIND, now, unique),
            schedule=definition.schedule,
            first=first,
            last=last,
            total=total,
            each=rules.STEP_RUNS,
        )

    def _begun(
        self, step: BackfillStep, definition: Definition, now: datetime, depth: int, *, replayed: bool = False
    ) -> Backfill:
        """Writes the row of the first step, and then sends its call. A row that is there is told as it is now."""
        task = rules.task_of(step, definition, shards=self.shards, now=now, depth=depth)
        (written,) = self.tasks.add([task])
        if written not in (Written.DONE, Written.CONFLICT):
            raise Unavailable
        if written is Written.CONFLICT:
            return self._answer(self.tasks.get(task.id) or task, replayed=replayed)
        calls.send([task], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return self._answer(task, replayed=replayed)

    def _answer(self, task: Task, *, replayed: bool = False) -> Backfill:
        """The backfill of this first step. The ids of all further steps follow from it."""
        step = BackfillStep.read(task.payload.text or "")
        ids = [rules.step_id(task.id, number, self.shards) for number in range(step.steps)]
        found = self.tasks.get_many(ids[1:])
        if found.unreadable:
            raise Unavailable("newer code alone can read a step of this operation")
        return Backfill(
            id=task.id,
            task_id=task.task_id,
            asked_at=task.created_at,
            step=step,
            progress=rules.progress(step, [task, *(found.get(id) for id in ids[1:])]),
            replayed=replayed,
        )
