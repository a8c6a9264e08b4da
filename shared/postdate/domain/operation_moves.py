"""Transitions of an operation: one table of those that are allowed, and one function for each event."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from postdate.domain.errors import InvalidState
from postdate.domain.operation import Operation, State
from postdate.domain.operation_pages import Outcome

ALLOWED: Final[dict[State, frozenset[State]]] = {
    State.PLANNED: frozenset({State.RUNNING, State.STOPPED}),
    State.RUNNING: frozenset({State.RUNNING, State.PAUSED, State.STOPPED, State.DONE, State.ABORTED}),
    State.PAUSED: frozenset({State.RUNNING, State.PAUSED, State.STOPPED, State.ABORTED}),
    State.STOPPED: frozenset({State.RUNNING, State.STOPPED}),
    State.DONE: frozenset(),
    State.ABORTED: frozenset(),
}
ACTIVE: Final = frozenset({State.RUNNING, State.PAUSED})


def started(operation: Operation, *, run: int, now: datetime) -> Operation:
    """RUNNING under a new execution. An execution may itself be the first to say so: the API starts it beforehand. An
    operation whose execution was killed goes on where it was; after a stop its canary begins anew."""
    if operation.state not in (State.PLANNED, State.STOPPED, *ACTIVE):
        raise InvalidState(operation.state, f"an operation that is {operation.state} cannot be started")
    moved = _moved(operation, State.RUNNING, now=now, run=run, why=None)
    if operation.state in ACTIVE:
        return moved
    return replace(moved, started_at=operation.started_at or now, began_at=now, canary_passed=False)


def stopped(operation: Operation, *, now: datetime, why: str) -> Operation:
    return _moved(operation, State.STOPPED, now=now, why=why)


def stopped_by_hand(operation: Operation, *, now: datetime, why: str) -> Operation:
    """The number of an execution that was begun and has not said so yet is used up: it finds itself overtaken."""
    return replace(stopped(operation, now=now, why=why), run=operation.run + 1)


def recounted(operation: Operation, *, now: datetime, counts: Mapping[Outcome, int]) -> Operation:
    """The same state with the counts of its pages."""
    return _moved(operation, operation.state, now=now, counts=counts)


def paused(operation: Operation, *, now: datetime) -> Operation:
    return _moved(operation, State.PAUSED, now=now, why="waits for the ends of the canary")


def went_on(operation: Operation, *, now: datetime) -> Operation:
    return _moved(operation, State.RUNNING, now=now, why=None, canary_passed=True)


def done(operation: Operation, *, now: datetime) -> Operation:
    return replace(_moved(operation, State.DONE, now=now, why=None), finished_at=now)


def aborted(operation: Operation, *, now: datetime, why: str) -> Operation:
    return replace(_moved(operation, State.ABORTED, now=now, why=why), finished_at=now)


def progressed(operation: Operation, *, now: datetime, **changes: object) -> Operation:
    """A slice further, in the same state."""
    return _moved(operation, operation.state, now=now, **changes)


def _moved(operation: Operation, to: State, *, now: datetime, **changes: object) -> Operation:
    if to not in ALLOWED[operation.state]:
        raise InvalidState(operation.state, f"an operation that is {operation.state} cannot become {to}")
    return replace(operation, state=to, version=operation.version + 1, changed_at=now, **changes)  # type: ignore[arg-type]
