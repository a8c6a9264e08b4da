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
from postdate.domain.transitions import Transition
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
    queue: Queue
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]

    def trigger(self, definition: Definition, *, key: str | None) -> Triggered:
        """One run now; with a key, one however often it is asked for, as it is then. The plan stays as it is."""
        _refuse_cancelled(definition, "triggered")
        now = self.clock.now()
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
        return Triggered(run=self._made_up_for(self.tasks.get(late.id) or late, now), replayed=True)

    def backfill(self, definition: Definition, *, first: datetime, last: datetime) -> int:
        """Runs what was planned from `first` to `last`, both included; how many that is. Asked again, it makes up for
        what was not written the first time and makes nothing twice.

        A run lives in the minute it was planned for, so its id follows from its wall time. No sweep goes there again:
        it is moved to now at once, and the pointer that belongs to a move brings it to a sweep if its call is lost.
        """
        _refuse_cancelled(definition, "backfilled")
        now = self.clock.now()
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
            moved = [run for part in pool.map(self._backfilled, parts) for run in part]
        calls.send(moved, queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return len(rows)

    def redrive(self, task: Task) -> None:
        """Sends the call that the redrive of its dead letter would send. Nothing is promised before it is sent."""
        if task.state is not RunState.DEAD:
            raise InvalidState(task.state, f"only what is DEAD can be tried again, and this is {task.state}")
        if task.recurs is not None:
            definition = self.definitions.get(task.task_id)
            if definition is None or definition.state is State.CANCELLED:
                raise InvalidState(
                    task.state, "no run of a task that is CANCELLED, or gone, can be tried again"
                )
        self.queue.send([Packet(tenant=task.tenant, via=Via.DEAD, dues=(Due.of(task),))])

    def _backfilled(self, rows: Sequence[Task]) -> list[Task]:
        """Those of them that wait to be called."""
        written = self.tasks.add(rows)
        if not {Written.DONE, Written.CONFLICT}.issuperset(written):
            raise Unavailable
        known = self.tasks.get_many(
            row.id for row, done in zip(rows, written, strict=True) if done is Written.CONFLICT
        )
        stored = [known.get(row.id, row) for row in rows]
        changes = [_moved(row, self.clock.now()) for row in stored if row.version == 1]
        if Written.UNAVAILABLE in (moved := self.tasks.commit(changes)) or Written.REFUSED in moved:
            raise Unavailable
        # Whoever else has moved one sends its call, or else the sweep that finds its pointer.
        return [change.after for change, done in zip(changes, moved, strict=True) if done is Written.DONE]

    def _run_now(self, definition: Definition, now: datetime) -> Task:
        name = f"trigger {self.unique().hex()}"
        return self.runs.out_of_turn(definition, name=name, due_at=now, now=now, why="triggered")

    def _run_then(self, definition: Definition, occurrence: Occurrence, now: datetime) -> Task:
        """Its deadline counts from now: from its own instant it would have passed."""
        name = f"backfill {occurrence.wall.isoformat(timespec='minutes')}"
        run = self.runs.out_of_turn(definition, name=name, due_at=occurrence.at, now=now, why="backfilled")
        after = definition.template.expires_after
        return replace(run, expires_at=None if after is None else now + after)

    def _written(self, run: Task) -> Task:
        (written,) = self.tasks.add([run]) if run.version == 1 else (Written.CONFLICT,)
        if written not in (Written.DONE, Written.CONFLICT):
            raise Unavailable
        if written is Written.CONFLICT:
            run = self.tasks.get(run.id) or run
        if run.state is RunState.PENDING:
            calls.send([run], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return run

    def _made_up_for(self, run: Task, now: datetime) -> Task:
        """A run whose first request may have died halfway. When its minute has passed, no sweep looks there again."""
        if run.state is not RunState.PENDING or run.version > 1 or run.home.holds(now):
            return self._written(run)
        moved = self._backfilled([run])
        calls.send(moved, queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return moved[0] if moved else self.tasks.get(run.id) or run


def _moved(run: Task, now: datetime) -> Transition:
    return replace(transitions.wait(run, now=now, until=now, why="due now"), points=True)


def _refuse_cancelled(definition: Definition, done: str) -> None:
    if definition.state is State.CANCELLED:
        raise InvalidState(definition.state, f"a task that is CANCELLED cannot be {done}")
