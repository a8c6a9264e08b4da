"""Transitions of a task: one table of those that are allowed, and one pure function for each event.

Each transition makes a new version with a history line. This module reads no clock, draws no random number and does
not know the stores.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

from postdate.domain import instants
from postdate.domain.due import DELAY_MAX, Due
from postdate.domain.errors import InvalidState
from postdate.domain.item import Phase
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import (
    LIFETIME,
    RECEIVER,
    HistoryLine,
    Recurs,
    State,
    Task,
    Template,
)

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
HISTORY_LINES_MAX: Final = 60
# More claims than any task gets between a backup and the loss of its table.
TOKENS_AHEAD: Final = 1000
PAST_DEADLINE: Final = "its deadline has passed"


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
    # True if the change replaces a claim: the task was called at its instant and may not begin yet.
    postponed: bool = False
    # The instant at which a dead task becomes callable again; None for other changes. The audits of its minutes may be
    # over, so the slot of this instant gets a pointer for its own audit. The pointer is written before the change.
    audited_from: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """The call has no effect, for the reason `why`. Its message is deleted."""

    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Deferred:
    """The call came too soon. It is sent again for the task's instant, or for the end of a lease."""

    why: str
    not_before: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Buried:
    """The task is dead and its dead letter may be missing. The dead letter is sent again."""


Verdict = Transition | Dropped | Deferred | Buried


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """The reason for a failed attempt. After a `final` failure no attempt follows."""

    why: str
    final: bool = False
    retry_after_seconds: float | None = None


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
        case State.PENDING | State.RETRYING if why_late := too_late(task, now):
            return expire(task, now=now, why=why_late)
        case State.PENDING | State.RETRYING:
            return _start(task, now=now, lease=lease, holder=holder, attempts=task.attempts + 1, why=why)
        # Another worker has the task. Its lease is over when this clock and the queue agree on it.
        case State.RUNNING if task.lease_until is not None and now < task.lease_until:
            return Deferred(why="another worker has it", not_before=task.lease_until)
        case State.RUNNING if not repeated:
            return Deferred(why="its lease may be over, by this clock alone", not_before=now + lease)
        case State.RUNNING if why_late := too_late(task, now):
            return replace(expire(task, now=now, why=why_late), over_lease=True)
        case State.RUNNING if task.attempts >= task.retry.max_attempts:
            return _lose(task, now=now, why="no attempt is left")
        case State.RUNNING:
            again = _start(
                task, now=now, lease=lease, holder=holder, attempts=task.attempts + 1, why=_silence(task)
            )
            return replace(again, over_lease=True)
        # Only the dead letter of this very death revives the task.
        case State.DEAD if due.version == task.version and (why_late := too_late(task, now)):
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


def succeed(task: Task, *, now: datetime, why: str) -> Transition:
    return _move(task, State.SUCCEEDED, now=now, why=why, finished_at=now, error=None)


def accept(task: Task, *, now: datetime) -> Transition:
    """The call was delivered and the receiver ends the run. The receiver has a lease of `timeout_seconds`."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be accepted")
    until = now + timedelta(seconds=task.timeout_seconds)
    return _move(task, State.RUNNING, now=now, why="accepted", holder=RECEIVER, lease_until=until)


def too_late(task: Task, instant: datetime) -> str | None:
    """The reason why no attempt may begin at that instant; None if one may."""
    if task.expires_at is not None and instant >= task.expires_at:
        return PAST_DEADLINE
    return f"{LIFETIME.days} days have passed since its instant" if instant >= task.ends_at else None


def expire(task: Task, *, now: datetime, why: str = PAST_DEADLINE) -> Transition:
    return _move(
        task,
        State.EXPIRED,
        now=now,
        why=why,
        finished_at=now,
        error="expired" if why == PAST_DEADLINE else why,
    )


def skip(task: Task, *, now: datetime, why: str) -> Transition:
    return _move(task, State.SKIPPED, now=now, why=why, finished_at=now)


def miss(task: Task, *, now: datetime, why: str) -> Transition:
    return _move(task, State.MISSED, now=now, why=why, finished_at=now)


def wait(task: Task, *, now: datetime, until: datetime, why: str) -> Transition:
    """Postpones the task to an instant that the queue can wait for. `planned_at` stays."""
    return _move(task, State.PENDING, now=now, why=why, due_at=until, moved_at=now)


def postpone(claim: Transition, *, now: datetime, until: datetime, why: str, placed: bool) -> Transition:
    """Replaces this claim by a later instant. The attempt does not count, and `planned_at` stays. With `placed` flow
    control gave the task a place at that instant. A task that would be postponed beyond its end expires now."""
    task = claim.before
    if why_late := too_late(task, until):
        expired = expire(task, now=now, why=f"{why}, and by then {why_late}")
        return replace(expired, over_lease=claim.over_lease)
    moved = _move(
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
    points = until > now + DELAY_MAX
    return replace(
        moved,
        over_lease=claim.over_lease,
        points=points,
        postponed=True,
        audited_from=claim.audited_from,
    )


def release(task: Task, *, now: datetime, until: datetime, why: str) -> Transition:
    """Gives up a claim under which no call was sent. The attempt does not count. Its token stays used."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be released")
    if why_late := too_late(task, until):
        return expire(task, now=now, why=why_late)
    until = instants.whole(until)
    attempts = task.attempts - 1
    released = _move(task, State.RETRYING, now=now, why=why, due_at=until, moved_at=now, attempts=attempts)
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
    if retry_at is not None and (why_late := too_late(task, retry_at)):
        why = f"{failure.why}, and by its retry {why_late}"
        return _move(task, State.EXPIRED, now=now, why=why, finished_at=now, error=failure.why)
    if failure.final or retry_at is None:
        return _move(task, State.DEAD, now=now, why=failure.why, finished_at=now, error=failure.why)
    waits = _move(
        task, State.RETRYING, now=now, why=failure.why, due_at=retry_at, moved_at=now, error=failure.why
    )
    return replace(waits, points=retry_at > now + DELAY_MAX)


def cancel(task: Task, *, now: datetime, why: str = "cancelled") -> Transition | None:
    """Cancels a task that waits; None if it is cancelled already, because to cancel twice is no error."""
    if task.state is State.CANCELLED:
        return None
    if not task.state.waits:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be cancelled")
    return _move(task, State.CANCELLED, now=now, why=why, finished_at=now)


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
            return _move(run, State.CANCELLED, now=now, why=why, finished_at=now)
        case _:
            assert_never(run.state)


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
    return replace(_move(task, State.PENDING, now=now, why=why, **changes), points=points)


def bring_forward(task: Task, *, now: datetime) -> Transition:
    """Plans an attempt now of a task that waits. Its plan stays. Its place was for another instant."""
    if not task.state.waits:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be brought forward")
    moved = _move(task, task.state, now=now, why="brought forward", due_at=now, moved_at=now, placed_at=None)
    return replace(moved, points=not task.home.holds(now))


def _silence(task: Task) -> str:
    return "was not acknowledged in time" if task.holder == RECEIVER else "its worker died"


def _lose(task: Task, *, now: datetime, why: str) -> Transition:
    """Ends a task whose lease is over and that gets no further attempt."""
    why = f"{_silence(task)}, and {why}"
    death = _move(task, State.DEAD, now=now, why=why, finished_at=now, error=why)
    return replace(death, over_lease=True)


def _start(
    task: Task, *, now: datetime, lease: timedelta, holder: str, attempts: int, why: str
) -> Transition:
    return _move(
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


def raise_token(task: Task, *, now: datetime, why: str) -> Transition | None:
    """Raises the token of a task from a restored table. Claims after the backup used tokens that the table does not
    show, and receivers refuse a lower token than the highest one they saw. None for a task that has ended, and for a
    task whose token was raised for this reason before."""
    if task.phase is Phase.RESTS or any(line.why == why for line in task.history):
        return None
    return _move(task, task.state, now=now, why=why, token=task.token + TOKENS_AHEAD)


def _move(
    task: Task, to: State, *, now: datetime, why: str, by_worker: bool = False, **changes: Any
) -> Transition:
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
    history = (*task.history[:1], *task.history[1:][-(HISTORY_LINES_MAX - 2) :], line)
    return Transition(before=task, after=replace(task, state=to, version=version, history=history, **changes))
