"""Transitions of a task: one table of those that are allowed, and one pure function for each event of an attempt.

Each transition makes a new version with a history line. Registrations and changes are in `task_requests`, claims in
`verdicts`. This module reads no clock, draws no random number and does not know the stores.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.due import DELAY_MAX
from postdate.domain.errors import InvalidState
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import PAST_DEADLINE, RECEIVER, HistoryLine, State, Task

ALLOWED: Final[dict[State, frozenset[State]]] = {
    State.PENDING: frozenset(
        {State.PENDING, State.RUNNING, State.CANCELLED, State.EXPIRED, State.SKIPPED, State.MISSED}
    ),
    State.RUNNING: frozenset({State.RUNNING, State.SUCCEEDED, State.RETRYING, State.DEAD, State.EXPIRED}),
    State.RETRYING: frozenset({State.RUNNING, State.RETRYING, State.CANCELLED, State.EXPIRED}),
    State.DEAD: frozenset({State.RUNNING, State.RETRYING, State.EXPIRED}),
    State.SUCCEEDED: frozenset(),
    State.CANCELLED: frozenset(),
    State.EXPIRED: frozenset(),
    State.SKIPPED: frozenset(),
    State.MISSED: frozenset(),
}
# A row has room for these: the registration and the newest lines.
HISTORY_LINES_MAX: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """A change that is decided but not yet written. The write succeeds only if the stored row still equals `before`."""

    # The task before the change.
    before: Task
    # The task after the change.
    after: Task
    # True if the change takes the task from a worker whose lease is over. The write fails if the lease was extended.
    over_lease: bool = False
    # True if the task moves to another minute. That minute's slot gets a pointer to the task's home.
    points: bool = False
    # True if the change takes the place of a claim (`postpone`), or takes back a claim whose delivery was not sent
    # (`release`). Neither is an attempt with an outcome.
    postponed: bool = False
    # The instant at which a dead task becomes callable again; None for other changes. The audits of its minutes may be
    # over, so the slot of this instant gets a pointer for its own audit. The pointer is written before the change.
    audited_from: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A failed attempt, as the retry policy sees it."""

    # The reason, in words for the owner.
    why: str
    # True if no attempt may follow.
    final: bool = False
    # The wait that the destination asked for; None if it asked for none.
    retry_after_seconds: float | None = None


def succeed(task: Task, *, now: datetime, why: str) -> Transition:
    return move(task, State.SUCCEEDED, now=now, why=why, finished_at=now, error=None)


def accept(task: Task, *, now: datetime) -> Transition:
    """The receiver of a task with `ack: explicit` took the delivery, with any successful answer. The task stays
    RUNNING. The receiver holds the lease for `timeout_seconds` and reports the end of the run. Raises InvalidState
    unless the task is RUNNING."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be accepted")
    until = now + timedelta(seconds=task.timeout_seconds)
    return move(task, State.RUNNING, now=now, why="accepted", holder=RECEIVER, lease_until=until)


def expire(task: Task, *, now: datetime, why: str = PAST_DEADLINE) -> Transition:
    return move(
        task,
        State.EXPIRED,
        now=now,
        why=why,
        finished_at=now,
        error="expired" if why == PAST_DEADLINE else why,
    )


def skip(task: Task, *, now: datetime, why: str) -> Transition:
    return move(task, State.SKIPPED, now=now, why=why, finished_at=now)


def miss(task: Task, *, now: datetime, why: str) -> Transition:
    return move(task, State.MISSED, now=now, why=why, finished_at=now)


def wait(task: Task, *, now: datetime, until: datetime, why: str) -> Transition:
    """Postpones the task to an instant that the queue can wait for. `planned_at` stays."""
    return move(task, State.PENDING, now=now, why=why, due_at=until, moved_at=now)


def postpone(
    claim: Transition, *, now: datetime, until: datetime, why: str, placed: bool = False
) -> Transition:
    """Replaces this claim by a later instant. The attempt does not count, and `planned_at` stays. With `placed` flow
    control gave the task a place at that instant. A task that would be postponed beyond its end expires now."""
    task = claim.before
    if why_late := task.too_late(until):
        expired = expire(task, now=now, why=f"{why}, and by then {why_late}")
        return replace(expired, over_lease=claim.over_lease)
    moved = move(
        task,
        State.PENDING if task.state is State.PENDING else State.RETRYING,
        now=now,
        why=why,
        due_at=until,
        moved_at=now,
        placed_at=until if placed else None,
        attempts=0 if task.state is State.DEAD else task.attempts,
        finished_at=None,
    )
    # Up to 15 minutes the message itself waits. After that only a pointer leads a sweep to the task.
    points = until > now + DELAY_MAX
    return replace(
        moved,
        over_lease=claim.over_lease,
        points=points,
        postponed=True,
        audited_from=claim.audited_from,
    )


def release(task: Task, *, now: datetime, until: datetime, why: str) -> Transition:
    """Takes back a claim whose delivery was not sent, for a reason inside Postdate (`Untried`). The task is RETRYING
    until `until`, or expires if that is too late. The attempt does not count; its token stays used. A claim that the
    gate stops before the write is replaced by `postpone` instead. Raises InvalidState unless the task is RUNNING."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be released")
    if why_late := task.too_late(until):
        return expire(task, now=now, why=why_late)
    until = instants.whole(until)
    attempts = task.attempts - 1
    released = move(task, State.RETRYING, now=now, why=why, due_at=until, moved_at=now, attempts=attempts)
    return replace(released, postponed=True)


def fail(
    task: Task, *, now: datetime, failure: Failure, draw: float, retry: RetryPolicy | None = None
) -> Transition:
    """Ends an attempt with a failure. A retry that the queue can delay needs no pointer: its message waits. `retry`
    counts in the place of the task's own policy."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot fail")
    retry_at = (retry or task.retry).next_attempt_at(
        attempts=task.attempts, now=now, draw=draw, asked_seconds=failure.retry_after_seconds
    )
    if retry_at is not None and (why_late := task.too_late(retry_at)):
        why = f"{failure.why}, and by its retry {why_late}"
        return move(task, State.EXPIRED, now=now, why=why, finished_at=now, error=failure.why)
    if failure.final or retry_at is None:
        return move(task, State.DEAD, now=now, why=failure.why, finished_at=now, error=failure.why)
    waits = move(
        task, State.RETRYING, now=now, why=failure.why, due_at=retry_at, moved_at=now, error=failure.why
    )
    return replace(waits, points=retry_at > now + DELAY_MAX)


def move(
    task: Task, to: State, *, now: datetime, why: str, by_worker: bool = False, **changes: Any
) -> Transition:
    """The transition to a state, with its history line. The line of a change `by_worker` names worker and lease."""
    if to not in ALLOWED[task.state]:
        raise InvalidState(task.state, f"{to} cannot follow {task.state}")
    if to is not State.RUNNING:
        changes["lease_until"] = None
    version = task.version + 1
    line = HistoryLine(
        version=version,
        at=now,
        to=to,
        why=why,
        attempt=changes.get("attempts", task.attempts),
        worker=changes["holder"] if by_worker else None,
        lease_until=changes["lease_until"] if by_worker else None,
    )
    history = (*_kept(task.history), line)
    return Transition(before=task, after=replace(task, state=to, version=version, history=history, **changes))


def _kept(history: tuple[HistoryLine, ...]) -> tuple[HistoryLine, ...]:
    """The lines that stay when one more is written: the first, that of the first claim, and the newest. The first claim
    tells how late the task began, whatever comes after."""
    if len(history) < HISTORY_LINES_MAX:
        return history
    newest = history[-(HISTORY_LINES_MAX - 2) :]
    claim = next((line for line in history if line.to is State.RUNNING), None)
    if claim is None or claim.version >= newest[0].version:
        return (history[0], *newest)
    return (history[0], claim, *newest[1:])
