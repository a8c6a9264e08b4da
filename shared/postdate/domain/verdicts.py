"""The verdict about the call of a task: a claim or another transition, or the reason why the call has no effect.

Includes the end of a run whose recurring task is gone. This module reads no clock and does not know the stores.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import assert_never

from postdate.domain.due import DELAY_MAX, Due
from postdate.domain.task import RECEIVER, State, Task
from postdate.domain.transitions import Transition, expire, move


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """The call has no effect. Its message is deleted."""

    # The reason.
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Deferred:
    """The call came too soon and is sent again."""

    # The reason.
    why: str
    # The earliest instant of the delivery, such as the end of a lease; None for the task's own instant.
    not_before: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Buried:
    """The task is dead and its dead letter may be missing. The dead letter is sent again."""


Verdict = Transition | Dropped | Deferred | Buried


def claim(
    task: Task,
    due: Due,
    *,
    now: datetime,
    lease: timedelta,
    holder: str,
    repeated: bool,
    letter: bool = False,
    why: str,
) -> Verdict:
    """Claims the task for one attempt, or decides otherwise about its call.

    `repeated` is true if a worker received the call before. That worker may have crashed between a commit and its
    message, so the message of a waiting or dead task is sent again. Only a repeated call, which waited in the queue for
    the end of the lease, takes a task from another worker. Therefore no promise depends on two clocks that agree.

    `letter` is true for a redriven dead letter. If its task was redriven before and waits, the task's own call may be
    lost, so the call is sent again.
    """
    match task.state:
        # The task waits for another instant than the call was sent for.
        case State.PENDING | State.RETRYING if due.due_at != task.due_at:
            if (repeated or letter) and task.due_at <= now + DELAY_MAX:
                return Deferred(why="moved, and its own call may be lost")
            return Dropped(why="moved")
        case State.PENDING | State.RETRYING if now < task.due_at:
            if task.due_at > now + DELAY_MAX:
                return Dropped(why="a later sweep has it")
            return Deferred(why="not due yet")
        case State.PENDING | State.RETRYING if why_late := task.too_late(now):
            return expire(task, now=now, why=why_late)
        case State.PENDING | State.RETRYING:
            return _start(task, now=now, lease=lease, holder=holder, attempts=task.attempts + 1, why=why)
        # Another worker has the task. Its lease is over when this clock and the queue agree on it.
        case State.RUNNING if task.lease_until is not None and now < task.lease_until:
            return Deferred(why="another worker has it", not_before=task.lease_until)
        case State.RUNNING if not repeated:
            return Deferred(why="its lease may be over, by this clock alone", not_before=now + lease)
        case State.RUNNING if why_late := task.too_late(now):
            return replace(expire(task, now=now, why=why_late), over_lease=True)
        case State.RUNNING if task.attempts >= task.retry.max_attempts:
            return _lose(task, now=now, why="no attempt is left")
        case State.RUNNING:
            again = _start(
                task, now=now, lease=lease, holder=holder, attempts=task.attempts + 1, why=_silence(task)
            )
            return replace(again, over_lease=True)
        # Only the dead letter of this very death revives the task.
        case State.DEAD if due.version == task.version and (why_late := task.too_late(now)):
            return expire(task, now=now, why=why_late)
        case State.DEAD if due.version == task.version:
            start = _start(task, now=now, lease=lease, holder=holder, attempts=1, why="redriven")
            return replace(start, audited_from=now)
        case State.DEAD if repeated:
            return Buried()
        case (
            State.DEAD
            | State.SUCCEEDED
            | State.CANCELLED
            | State.EXPIRED
            | State.SKIPPED
            | State.MISSED as ended
        ):
            return Dropped(why=f"is {ended}")
        case _:
            assert_never(task.state)


def stop(run: Task, *, now: datetime, why: str) -> Transition | Dropped:
    """Ends a run whose recurring task is gone. The outcome of an attempt whose worker crashed is unknown, so a RUNNING
    run ends as DEAD. A DEAD run stays dead."""
    match run.state:
        case State.DEAD:
            return Dropped(why=why)
        case State.RUNNING:
            return _lose(run, now=now, why=why)
        case (
            State.PENDING
            | State.RETRYING
            | State.SUCCEEDED
            | State.CANCELLED
            | State.EXPIRED
            | State.SKIPPED
            | State.MISSED
        ):
            return move(run, State.CANCELLED, now=now, why=why, finished_at=now)
        case _:
            assert_never(run.state)


def _silence(task: Task) -> str:
    return "was not acknowledged in time" if task.holder == RECEIVER else "its worker died"


def _lose(task: Task, *, now: datetime, why: str) -> Transition:
    """Ends a task whose lease is over and that gets no further attempt."""
    why = f"{_silence(task)}, and {why}"
    death = move(task, State.DEAD, now=now, why=why, finished_at=now, error=why)
    return replace(death, over_lease=True)


def _start(
    task: Task, *, now: datetime, lease: timedelta, holder: str, attempts: int, why: str
) -> Transition:
    """The claim of a task: a new token, and a lease for this worker."""
    return move(
        task,
        State.RUNNING,
        now=now,
        why=why,
        attempts=attempts,
        token=task.token + 1,
        holder=holder,
        finished_at=None,
        lease_until=now + lease,
        by_worker=True,
    )
