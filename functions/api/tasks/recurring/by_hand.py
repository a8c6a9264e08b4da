"""Runs on request, beside the plan: a run now, and the redrive of a dead task."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from functions.api import idempotency
from postdate.domain import definition as definitions
from postdate.domain import transitions
from postdate.domain.definition import Definition, State
from postdate.domain.due import Due, Packet, Via
from postdate.domain.errors import InvalidState, Unavailable
from postdate.domain.recurrence import Runs
from postdate.domain.sweeping import Horizon
from postdate.domain.task import State as RunState
from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.tasks import Tasks, Written
from postdate.use_cases import calls


@dataclass(frozen=True, kw_only=True, slots=True)
class Triggered:
    # The run, as it is now.
    run: Task
    # True if an earlier request with the same key began it.
    replayed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ByHand:
    definitions: Definitions
    tasks: Tasks
    runs: Runs
    reservations: Reservations
    # The time after the end of a task for which its runs may still be made.
    triggered_for: timedelta
    queue: Queue
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]

    def trigger(self, definition: Definition, *, key: str | None, depth: int = 0) -> Triggered:
        """Begins one run now. Requests with the same key begin one run, and get it as it is then. The plan stays
        unchanged."""
        now = self.clock.now()
        definitions.refuse_ended(definition, "triggered", made_for=self.triggered_for, now=now)
        run = self._run_now(definition, now, depth)
        if key is None:
            return Triggered(run=self._written(run))
        wanted = Reservation(
            tenant=definition.tenant,
            key=f"trigger {definition.id} {key}",
            fingerprint=definition.id,
            item_id=run.id,
            due_at=now,
            created_at=now,
            keep_until=now + idempotency.KEY_KEPT,
        )
        reservation = self.reservations.reserve(wanted, now=now)
        if reservation.item_id == run.id:
            return Triggered(run=self._written(run))
        late = replace(self._run_now(definition, reservation.due_at, depth), id=reservation.item_id)
        return Triggered(run=self._made_up_for(late, self.tasks.get(late.id), now), replayed=True)

    def redrive(self, task: Task) -> None:
        """Sends the call that a redrive of the dead letter would send. Raises Unavailable if the call was not sent."""
        if task.state is not RunState.DEAD:
            raise InvalidState(task.state, f"only a DEAD task can be retried, and this task is {task.state}")
        # The call would end the task as EXPIRED.
        if why_late := task.too_late(self.clock.now()):
            raise InvalidState(task.state, f"no attempt may begin any more: {why_late}")
        if task.recurs is not None:
            definition = self.definitions.get(task.task_id)
            if definition is None or definition.state is State.CANCELLED:
                raise InvalidState(
                    task.state, "a run of a task that is CANCELLED or deleted cannot be retried"
                )
        self.queue.send([Packet(tenant=task.tenant, via=Via.DEAD, dues=(Due.of(task),))])

    def _run_now(self, definition: Definition, now: datetime, depth: int) -> Task:
        name = f"trigger {self.unique().hex()}"
        return self.runs.out_of_turn(definition, name=name, due_at=now, now=now, why="triggered", depth=depth)

    def _written(self, run: Task) -> Task:
        """Writes a new run, or reads the one that an earlier request wrote, and sends its call if it waits. The call
        may be the second one: an earlier request may have crashed before it sent any."""
        (written,) = self.tasks.add([run]) if run.version == 1 else (Written.CONFLICT,)
        if written not in (Written.DONE, Written.CONFLICT):
            raise Unavailable
        if written is Written.CONFLICT:
            run = self.tasks.get(run.id) or run
        if run.state is RunState.PENDING:
            calls.send([run], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return run

    def _made_up_for(self, run: Task, stored: Task | None, now: datetime) -> Task:
        """A run whose first request may have crashed halfway. Once its minute has passed, no sweep reads it there
        again: the run becomes due now, or ends if no attempt may begin any more."""
        is_past = not run.home.holds(now)
        if stored is None:
            return self._written(_due_now(run, now) if is_past else run)
        if is_past and stored.state is RunState.PENDING and stored.version == 1 and stored.due_at < now:
            (written,) = self.tasks.commit([_made_due(stored, now)])
            if written not in (Written.DONE, Written.CONFLICT):
                raise Unavailable
            stored = self.tasks.get(stored.id) or stored
        if stored.state is RunState.PENDING:
            calls.send([stored], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return stored


def _made_due(run: Task, now: datetime) -> Transition:
    if why_late := run.too_late(now):
        return transitions.expire(run, now=now, why=why_late)
    return replace(transitions.wait(run, now=now, until=now, why="due now"), points=True)


def _due_now(run: Task, now: datetime) -> Task:
    return replace(run, due_at=now, moved_at=now)
