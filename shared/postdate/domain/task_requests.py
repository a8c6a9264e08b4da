"""Transitions of a task that a request, an operator or a plan asks for: registration, changes, cancellation."""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from postdate.domain.errors import InvalidState
from postdate.domain.item import Phase
from postdate.domain.recurs import Recurs
from postdate.domain.task import HistoryLine, State, Task, Template
from postdate.domain.transitions import Transition, move

# More claims than any task gets between a backup and the loss of its table.
TOKENS_AHEAD: Final = 1000


def register(
    *,
    id: str,
    tenant: str,
    due_at: datetime,
    now: datetime,
    template: Template,
    recurs: Recurs | None = None,
    why: str = "registered",
) -> Task:
    """A new task that is due at its instant. The deadline counts from that instant. The caller adds the name, the tags
    and the job's key: no rule reads them."""
    after = template.expires_after
    return Task(
        id=id,
        tenant=tenant,
        state=State.PENDING,
        version=1,
        planned_at=due_at,
        due_at=due_at,
        created_at=now,
        moved_at=now,
        destination=template.destination,
        payload=template.payload,
        retry=template.retry,
        timeout_seconds=template.timeout_seconds,
        ack=template.ack,
        expires_at=None if after is None else due_at + after,
        flow=template.flow,
        depth=template.depth,
        recurs=recurs,
        history=(HistoryLine(version=1, at=now, to=State.PENDING, why=why, attempt=0),),
    )


def keep_back(new: Task, state: State, why: str) -> Task:
    """The row of a new run that does not run: its first version is final."""
    line = HistoryLine(version=1, at=new.created_at, to=state, why=why, attempt=0)
    return replace(new, state=state, finished_at=new.created_at, history=(line,))


def cancel(task: Task, *, now: datetime, why: str = "cancelled") -> Transition | None:
    """Cancels a task that waits; None if it is cancelled already, because to cancel twice is no error."""
    if task.state is State.CANCELLED:
        return None
    if not task.state.waits:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be cancelled")
    return move(task, State.CANCELLED, now=now, why=why, finished_at=now)


def edit(task: Task, *, now: datetime, due_at: datetime | None, why: str, **changes: Any) -> Transition:
    """Changes the call of a task or its instant, before the first attempt. New flow control discards the place that the
    old one gave."""
    if task.state is not State.PENDING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be changed")
    if "flow" in changes:
        changes["placed_at"] = None
    if due_at is not None:
        changes |= {"planned_at": due_at, "due_at": due_at, "moved_at": now}
    points = due_at is not None and due_at != task.due_at and not task.home.holds(due_at)
    return replace(move(task, State.PENDING, now=now, why=why, **changes), points=points)


def bring_forward(task: Task, *, now: datetime) -> Transition:
    """Plans an attempt now of a task that waits. Its plan stays. Its place was for another instant."""
    if not task.state.waits:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be brought forward")
    moved = move(task, task.state, now=now, why="brought forward", due_at=now, moved_at=now, placed_at=None)
    return replace(moved, points=not task.home.holds(now))


def raise_token(task: Task, *, now: datetime, why: str) -> Transition | None:
    """Raises the token of a task from a restored table. Claims after the backup used tokens that the table does not
    show, and receivers refuse a lower token than the highest one they saw. None for a task that has ended, and for a
    task whose token was raised for this reason before."""
    if task.phase is Phase.RESTS or any(line.why == why for line in task.history):
        return None
    return move(task, task.state, now=now, why=why, token=task.token + TOKENS_AHEAD)
