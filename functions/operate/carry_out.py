"""Runs of an operation: one invocation of the newest run works, is stopped, or finds that another run was faster.

A record is refused if somebody else wrote the operation first. The slice then ends, and the worker goes on only if its
run is still the newest.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from functions.operate.actors import Actors
from functions.operate.work import Overtaken, Work, pages_of, written
from postdate.domain import operation as rules
from postdate.domain import operation_counts
from postdate.domain import operation_moves as moves
from postdate.domain.errors import NotFound
from postdate.domain.operation import Operation, State
from postdate.domain.operation_moves import ACTIVE
from postdate.runtime.clock import Clock
from postdate.stores.operations import Operations

_AGAIN_SECONDS: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Conductor:
    """`rate_max` bounds the items a second of each operation, also of one that runs."""

    operations: Operations
    actors: Actors
    clock: Clock
    # The time of one invocation. A slice that has begun ends after it.
    works_for: timedelta
    rate_max: Callable[[], int] = lambda: rules.RATE_MAX

    def work(self, id: str, *, run: int) -> int | None:
        """Works for a few seconds. Answers after how many seconds to go on; None if this run has nothing left to do.

        Raises Unavailable when a table or the queue does not answer. An operation that has run for a day is stopped.
        """
        try:
            operation = self._taken(id, run)
            if operation is None:
                return self._after_overtaking(id, run)
            now = self.clock.now()
            if operation.began_at is not None and now >= operation.began_at + rules.RUNS_FOR:
                written(self.operations, moves.stopped(operation, now=now, why="worked for a day: resume it"))
                return None
            return Work(
                self.operations,
                operation,
                self.actors[operation.request.kind],
                clock=self.clock,
                works_for=self.works_for,
                # One invocation lasts seconds, and keeps its rate.
                rate=min(operation.request.max_per_second, self.rate_max()),
            ).work()
        except Overtaken:
            return self._after_overtaking(id, run)

    def abort(self, id: str, *, run: int, why: str) -> None:
        self._end(moves.aborted, id, run, why)

    def stop(self, id: str, *, run: int, why: str) -> None:
        self._end(moves.stopped, id, run, why)

    def _end(self, end: "_Ends", id: str, run: int, why: str) -> None:
        try:
            if operation := self._taken(id, run):
                written(self.operations, end(operation, now=self.clock.now(), why=why))
        except Overtaken:
            return

    def _after_overtaking(self, id: str, run: int) -> int | None:
        """Goes on if this run is still the newest: the API noted the start of this run, or a second invocation of it
        was faster. After a stop the items of the slice that was under way are counted, also if its worker died."""
        operation = self.operations.get(id)
        if operation is None:
            return None
        if operation.run == run and operation.state in ACTIVE:
            return _AGAIN_SECONDS
        if operation.state is State.STOPPED:
            counts = operation_counts.counted(pages_of(self.operations, operation).values())
            if counts != operation.counts:
                # A refusal means that a person changed the operation again; the next run counts anew.
                self.operations.change(moves.recounted(operation, now=self.clock.now(), counts=counts))
        return None

    def _taken(self, id: str, run: int) -> Operation | None:
        """The operation, if this run is its newest. The run that was just begun may have to say so itself."""
        operation = self.operations.get(id)
        if operation is None:
            raise NotFound(f"there is no operation {id}")
        if run == operation.run + 1 and operation.state in (State.PLANNED, State.STOPPED, *ACTIVE):
            return written(self.operations, moves.started(operation, run=run, now=self.clock.now()))
        return operation if run == operation.run and operation.state in ACTIVE else None


class _Ends(Protocol):
    def __call__(self, operation: Operation, *, now: datetime, why: str) -> Operation: ...
