"""Commits outcomes, and sends what follows from each committed change: the retry's message, the call for the end of a
receiver's lease, or the dead letter.

A run that its receiver accepted is kept in its room before the commit (decision 0188). A worker that dies after the
commit and before the send leaves its own message: delivered again, it finds the task waiting or dead and sends what is
missing. A worker that is fenced off sends its call on: the faster worker may have had the task from the same message,
and died.
"""

from datetime import datetime, timedelta
from typing import Final, assert_never

from functions.run_tasks.batch import SOON, Batch, Change, Worker
from functions.run_tasks.delivering import Delivering
from functions.run_tasks.gate.admit import Gate
from postdate.domain.due import Due
from postdate.domain.parameters import DEFAULTS
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.runtime import metric
from postdate.runtime.agenda import Call
from postdate.stores.tasks import Written

_PAUSE: Final = timedelta(milliseconds=50)


class Recording:
    def __init__(self, batch: Batch, worker: Worker, *, gate: Gate, delivering: Delivering) -> None:
        self._batch = batch
        self._worker = worker
        self._gate = gate
        self._delivering = delivering
        self._unwritten: list[Change] = []
        self._write_at = worker.clock.now()
        self._pause = _PAUSE

    @property
    def writes_at(self) -> datetime | None:
        """The instant of the next try to write outcomes that could not be written; None if there are none."""
        return self._write_at if self._unwritten else None

    def commit(self, outcomes: list[Change]) -> None:
        """Commits these outcomes and those that could not be written before, then sends the messages that follow. The
        worker calls this with finished deliveries, and with none at `writes_at`. An outcome that is still unwritten
        when the worker's time is over comes back with its message."""
        changes = [*self._unwritten, *outcomes]
        # The room goes first: a worker that dies in between leaves no accepted run outside its room.
        accepted = [
            change for _, change in changes if change.after.state is State.RUNNING and change.after.flow
        ]
        unheld = self._gate.rooms.hold(accepted) if accepted else ()
        waits = [each for each in changes if each[1].after.name_in_room in unheld] if unheld else []
        by_answer = self._batch.commit([each for each in changes if each not in waits])
        for call, change in by_answer[Written.DONE]:
            self.follow_up(call, change)
        if fenced_off := by_answer[Written.CONFLICT]:
            self._call_again(fenced_off)
        kept = by_answer[Written.UNAVAILABLE] + waits
        # This worker has no time left to write them: their messages come back when the lease ends.
        if kept and self._worker.seconds_left() <= 0:
            self._batch.fail(call for call, _ in kept)
            kept = []
        ended = [change for call, change in changes if (call, change) not in kept]
        # Rooms and breakers hear only of what is written, or can no longer be written here.
        self._delivering.forget(ended)
        self._gate.breakers.listen()
        if controlled := [change for change in ended if change.before.flow is not None]:
            self._gate.rooms.left(controlled)
        self._unwritten = kept
        self._pause = min(self._pause * 2, SOON) if kept else _PAUSE
        self._write_at = self._worker.clock.now() + self._pause
        self._batch.outbox.send()

    def _call_again(self, fenced_off: list[Change]) -> None:
        """Sends calls again whose outcome was fenced off, for the end of the other worker's lease. That worker has the
        task, or had it and crashed before it sent what follows: then this call is the last one that is left of the
        task."""
        self._batch.tally.fenced_off += len(fenced_off)
        for call, change in fenced_off:
            not_before = self._worker.clock.now() + self._worker.lease
            self._batch.outbox.defer(Due.of(change.before), call.message, not_before=not_before)

    def follow_up(self, call: Call, change: Transition) -> None:
        """Counts a committed change, and sends what follows from it."""
        tally, outbox = self._batch.tally, self._batch.outbox
        task = self._batch.known[change.after.id] = change.after
        self._batch.trace(task, f"became_{task.state.lower()}", task.history[-1].why)
        # A postponed claim began no attempt, so no outcome is counted.
        if change.postponed:
            tally.postponed += 1
            if not self._is_left_to_a_sweep(change):
                outbox.postpone(task, call.message)
            return
        if change.before.state is State.RUNNING and task.state.follows_failure:
            tally.failures.append(task)
        # The defaults have no experiment, and most batches need not look for one.
        if self._worker.parameters is not DEFAULTS:
            self._count_arm(task)
        match task.state:
            case State.SUCCEEDED:
                tally.succeeded += 1
                tally.done.append(task.id)
                tally.tier_ended[self._delivering.tier_of(task)] += 1
            case State.RUNNING:
                # The receiver acknowledges by a request. If none comes, this call is back at the end of the lease.
                tally.accepted += 1
                outbox.defer(Due.of(task), call.message, not_before=task.lease_until)
            case State.RETRYING:
                tally.retried += 1
                if not self._is_left_to_a_sweep(change):
                    outbox.retry(task, call.message)
            case State.DEAD:
                tally.dead += 1
                tally.tier_ended[self._delivering.tier_of(task)] += 1
                outbox.bury(task, call.message)
            case State.EXPIRED:
                tally.expired += 1
            # The run did not begin. If it waits, its call is sent again.
            case State.PENDING | State.CANCELLED | State.SKIPPED | State.MISSED:
                tally.kept_back[task.state] += 1
                if task.state.waits:
                    outbox.defer(Due.of(task), call.message, not_before=None)
            case _:
                assert_never(task.state)

    def _count_arm(self, task: Task) -> None:
        """Counts the outcomes that retries decide, for the arm of the experiment that the task belongs to."""
        arm = self._worker.parameters.experiments.task_retries.arm(task.tenant, task.id)
        if arm is None:
            return
        if task.state is State.SUCCEEDED and task.attempts > 1:
            self._batch.tally.arms[arm, metric.RECOVERED] += 1
        elif task.state is State.RETRYING:
            self._batch.tally.arms[arm, metric.RETRIED] += 1
        elif task.state is State.DEAD:
            self._batch.tally.arms[arm, metric.DIED] += 1

    def _is_left_to_a_sweep(self, change: Transition) -> bool:
        """True if the sweep will send the call: the change wrote a pointer, and its minute cannot be open yet.

        If the minute may be open, the open pass may have missed the pointer, and the closing pass assumes that the open
        pass saw it. Then this worker sends the call.
        """
        horizon, now = self._worker.horizon, self._worker.clock.now()
        return change.points and not horizon.reaches(change.after.due_at, now)
