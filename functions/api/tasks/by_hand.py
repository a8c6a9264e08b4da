"""Runs that somebody asks for, beside what is planned: one now, those of a time gone by, the dead once more."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Final

from functions.api import calls
from functions.api.tasks.register import KEY_KEPT
from postdate.domain import transitions
from postdate.domain.cron import Occurrence
from postdate.domain.definition import Definition, State
from postdate.domain.due import Due, Packet, Via
from postdate.domain.errors import InvalidState, LimitExceeded, Unavailable, ValidationFailed
from postdate.domain.recurrence import Runs
from postdate.domain.sweeping import Horizon
from postdate.domain.task import State as RunState
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.tasks import Tasks, Written

BACKFILLED_MAX: Final = 1000
_AT_ONCE: Final = 8
_PART: Final = 25
_MOMENT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Triggered:
    run: Task
    replayed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ByHand:
    definitions: Definitions
    tasks: Tasks
    runs: Runs
    reservations: Reservations
    triggered_for: timedelta
    queue: Queue
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]

    def trigger(self, definition: Definition, *, key: str | None) -> Triggered:
        """One run now; with a key, one however often it is asked for, as it is then. The plan stays as it is."""
        now = self.clock.now()
        self._refuse_ended(definition, "triggered", now)
        run = self._run_now(definition, now)
        if key is None:
            return Triggered(run=self._written(run))
        wanted = Reservation(
            tenant=definition.tenant,
            key=f"trigger {definition.id} {key}",
            fingerprint=definition.id,
            item_id=run.id,
            due_at=now,
            created_at=now,
            keep_until=now + KEY_KEPT,
        )
        held = self.reservations.reserve(wanted, now=now)
        if held.item_id == run.id:
            return Triggered(run=self._written(run))
        late = replace(self._run_now(definition, held.due_at), id=held.item_id)
        return Triggered(run=self._made_up_for(late, self.tasks.get(late.id), now), replayed=True)

    def backfill(self, definition: Definition, *, first: datetime, last: datetime) -> int:
        """Runs what was planned from `first` to `last`, both included; how many that is. A repeat begins with
        the first run again and makes nothing twice, so it ends only if all of them fit into the time of one request.

        A run lives in the minute it was planned for, so its id follows from its wall time. No sweep goes there again:
        it is written together with a pointer in the minute that is now, which brings it to a sweep if its call is lost.
        """
        now = self.clock.now()
        self._refuse_ended(definition, "backfilled", now)
        if last < first:
            raise ValidationFailed([("to", "is before from")])
        if last > now:
            raise ValidationFailed([("to", "is in the future")])
        planned = takewhile(lambda each: each.at <= last, definition.schedule.walk(first - _MOMENT))
        occurrences = list(islice(planned, BACKFILLED_MAX + 1))
        if len(occurrences) > BACKFILLED_MAX:
            raise LimitExceeded(
                [("from", f"these are more than {BACKFILLED_MAX} runs: ask for less at once")]
            )
        rows = [self._run_then(definition, each, now) for each in occurrences]
        parts = [rows[start : start + _PART] for start in range(0, len(rows), _PART)]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            written = [run for part in pool.map(self._backfilled, parts) for run in part]
        calls.send(written, queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return len(rows)

    def redrive(self, task: Task) -> None:
        """Sends the call that the redrive of its dead letter would send. Nothing is promised before it is sent."""
        if task.state is not RunState.DEAD:
            raise InvalidState(task.state, f"only what is DEAD can be tried again, and this is {task.state}")
        if why_late := transitions.too_late(task, self.clock.now()):
            raise InvalidState(task.state, f"no attempt may begin any more: {why_late}")
        if task.recurs is not None:
            definition = self.definitions.get(task.task_id)
            if definition is None or definition.state is State.CANCELLED:
                raise InvalidState(
                    task.state, "no run of a task that is CANCELLED, or gone, can be tried again"
                )
        self.queue.send([Packet(tenant=task.tenant, via=Via.DEAD, dues=(Due.of(task),))])

    def _backfilled(self, rows: Sequence[Task]) -> list[Task]:
        """Those of them that are new. Whoever has written another sends its call, or else the sweep that finds its
        pointer."""
        written = self.tasks.add(rows)
        if not {Written.DONE, Written.CONFLICT}.issuperset(written):
            raise Unavailable
        return [row for row, done in zip(rows, written, strict=True) if done is Written.DONE]

    def _refuse_ended(self, definition: Definition, done: str, now: datetime) -> None:
        """A finished definition is kept for as long as runs may live that were made `triggered_for` after its end."""
        if definition.state is State.CANCELLED:
            raise InvalidState(definition.state, f"a task that is CANCELLED cannot be {done}")
        if definition.state is State.FINISHED and now >= definition.changed_at + self.triggered_for:
            days = self.triggered_for.days
            raise InvalidState(
                definition.state, f"a task that ended {days} days ago cannot be {done}: change it first"
            )

    def _run_now(self, definition: Definition, now: datetime) -> Task:
        name = f"trigger {self.unique().hex()}"
        return self.runs.out_of_turn(definition, name=name, due_at=now, now=now, why="triggered")

    def _run_then(self, definition: Definition, occurrence: Occurrence, now: datetime) -> Task:
        """Its deadline counts from now: from its own instant it would have passed."""
        name = f"backfill {occurrence.wall.isoformat(timespec='minutes')}"
        run = self.runs.out_of_turn(definition, name=name, due_at=occurrence.at, now=now, why="backfilled")
        after = definition.template.expires_after
        return replace(_due_now(run, now), expires_at=None if after is None else now + after)

    def _written(self, run: Task) -> Task:
        (written,) = self.tasks.add([run]) if run.version == 1 else (Written.CONFLICT,)
        if written not in (Written.DONE, Written.CONFLICT):
            raise Unavailable
        if written is Written.CONFLICT:
            run = self.tasks.get(run.id) or run
        if run.state is RunState.PENDING:
            calls.send([run], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return run

    def _made_up_for(self, run: Task, stored: Task | None, now: datetime) -> Task:
        """A run whose first request may have died halfway. When its minute has passed, no sweep looks there again."""
        is_past = not run.home.holds(now)
        if stored is None:
            return self._written(_due_now(run, now) if is_past else run)
        if is_past and stored.state is RunState.PENDING and stored.version == 1 and stored.due_at < now:
            moved = replace(transitions.wait(stored, now=now, until=now, why="due now"), points=True)
            (written,) = self.tasks.commit([moved])
            if written not in (Written.DONE, Written.CONFLICT):
                raise Unavailable
            stored = self.tasks.get(stored.id) or stored
        if stored.state is RunState.PENDING:
            calls.send([stored], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return stored


def _due_now(run: Task, now: datetime) -> Task:
    return replace(run, due_at=now, moved_at=now)
