"""What may follow what in a task's life: one table, and one pure function for each event.

Every event that changes a task makes a new version with a history line. Nothing here reads a clock, draws a random
number or knows where tasks are kept.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

from postdate.domain import instants
from postdate.domain.due import DELAY_MAX, Due
from postdate.domain.errors import InvalidState
from postdate.domain.flow import FlowControl
from postdate.domain.item import Phase
from postdate.domain.retry import RetryPolicy
from postdate.domain.task import (
    LIFETIME,
    RECEIVER,
    Ack,
    Destination,
    HistoryLine,
    Payload,
    Recurs,
    State,
    Task,
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
# More than any task is given between a backup and the loss of its table.
TOKENS_AHEAD: Final = 1000
PAST_DEADLINE: Final = "its deadline has passed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """A change decided but not yet written: it holds while `before` is still what is stored.

    One decided `over_lease` takes the task from a worker whose lease is over, and holds only while it was not made
    longer. One that `points` has moved the task to another minute, whose slot needs a pointer to the task's home.
    One that is `postponed` stands in the place of a claim: the task was called at its instant and may not begin yet.
    `audited_from` is set when a dead task becomes callable again: the audits of its minutes may be over, so the slot of
    that instant needs a pointer for its own audit. The pointer is written before the change.
    """

    before: Task
    after: Task
    over_lease: bool = False
    points: bool = False
    postponed: bool = False
    audited_from: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """The call is not, or no longer, anybody's business; `why` says so."""

    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Deferred:
    """The call came too soon and has to be sent again: for the task's instant, or for the end of a lease."""

    why: str
    not_before: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Buried:
    """The task is dead and its dead letter may be missing: it has to be sent again."""


Verdict = Transition | Dropped | Deferred | Buried


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why an attempt failed; `final` means that no other attempt may follow."""

    why: str
    final: bool = False
    retry_after_seconds: float | None = None


def register(
    *,
    id: str,
    tenant: str,
    due_at: datetime,
    now: datetime,
    destination: Destination,
    payload: Payload,
    retry: RetryPolicy,
    timeout_seconds: int,
    name: str | None,
    tags: tuple[str, ...],
    ack: Ack = Ack.RESPONSE,
    expires_at: datetime | None = None,
    recurs: Recurs | None = None,
    flow: FlowControl | None = None,
    job_key: str | None = None,
    depth: int = 0,
    why: str = "registered",
) -> Task:
    return Task(
        id=id,
        tenant=tenant,
        state=State.PENDING,
        version=1,
        planned_at=due_at,
        due_at=due_at,
        created_at=now,
        moved_at=now,
        destination=destination,
        payload=payload,
        retry=retry,
        timeout_seconds=timeout_seconds,
        name=name,
        tags=tags,
        ack=ack,
        expires_at=expires_at,
        recurs=recurs,
        flow=flow,
        job_key=job_key,
        depth=depth,
        history=(HistoryLine(version=1, at=now, to=State.PENDING, why=why, attempt=0),),
    )


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
    """Takes the task for one attempt, if this call is the one to do it.

    `repeated` says that a worker had the call before. If it died, it may have committed a change without sending the
    message that belongs to it: what is found waiting, or dead, is sent again. And a task is taken from a worker whose
    lease is over only by a call that waited for that in the queue: no promise rests on two machines' clocks.

    A `letter` is a redriven dead letter. If its task was brought back before and waits, the task's own call may be
    lost, so the call is sent again.
    """
    match task.state:
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
    """Delivered, and the receiver has the word: its own lease runs until it says more."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be accepted")
    until = now + timedelta(seconds=task.timeout_seconds)
    return _move(task, State.RUNNING, now=now, why="accepted", holder=RECEIVER, lease_until=until)


def too_late(task: Task, instant: datetime) -> str | None:
    """Why no attempt may begin at that instant; None if one may."""
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
    """For another instant near enough for the queue; what was planned stays planned."""
    return _move(task, State.PENDING, now=now, why=why, due_at=until, moved_at=now)


def postpone(claim: Transition, *, now: datetime, until: datetime, why: str, placed: bool) -> Transition:
    """Instead of this claim: no attempt is used up, and what was planned stays planned. With `placed` the task has its
    place at that instant and need not ask again. One that would be postponed beyond its end ends now."""
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
    """Gives up a claim under which nothing was sent. The attempt does not count; its token stays used."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be released")
    if why_late := too_late(task, until):
        return expire(task, now=now, why=why_late)
    until = instants.whole(until)
    attempts = task.attempts - 1
    released = _move(task, State.RETRYING, now=now, why=why, due_at=until, moved_at=now, attempts=attempts)
    return replace(released, postponed=True)


def fail(task: Task, *, now: datetime, failure: Failure, draw: float) -> Transition:
    """A retry that the queue can hold until it is due needs no pointer: its message is its call."""
    if task.state is not State.RUNNING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot fail")
    retry_at = task.retry.next_attempt_at(
        attempts=task.attempts, now=now, draw=draw, asked_seconds=failure.retry_after_seconds
    )
    if retry_at is not None and (why_late := too_late(task, retry_at)):
        why = f"{failure.why}, and by its retry {why_late}"
        return _move(task, State.EXPIRED, now=now, why=why, finished_at=now, error=failure.why)
    if failure.final or retry_at is None:
        return _move(task, State.DEAD, now=now, why=failure.why, finished_at=now, error=failure.why)
    retry = _move(
        task, State.RETRYING, now=now, why=failure.why, due_at=retry_at, moved_at=now, error=failure.why
    )
    return replace(retry, points=retry_at > now + DELAY_MAX)


def cancel(task: Task, *, now: datetime, why: str = "cancelled") -> Transition | None:
    """None when it is cancelled already: asking twice is no error."""
    if task.state is State.CANCELLED:
        return None
    if not task.state.waits:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be cancelled")
    return _move(task, State.CANCELLED, now=now, why=why, finished_at=now)


def stop(run: Task, *, now: datetime, why: str) -> Transition | Dropped:
    """Instead of another attempt of a run whose task is no more. What came of an attempt whose worker died, nobody can
    say; that one is dead, and what is dead stays it."""
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
    """Changes what a task does or when; possible until its first attempt has started. A place that another flow
    control has given it is none of the new one's."""
    if task.state is not State.PENDING:
        raise InvalidState(task.state, f"a task that is {task.state} cannot be changed")
    if "flow" in changes:
        changes["placed_at"] = None
    if due_at is not None:
        changes |= {"planned_at": due_at, "due_at": due_at, "moved_at": now}
    points = due_at is not None and due_at != task.due_at and not task.home.holds(due_at)
    return replace(_move(task, State.PENDING, now=now, why=why, **changes), points=points)


def _silence(task: Task) -> str:
    return "was not acknowledged in time" if task.holder == RECEIVER else "its worker died"


def _lose(task: Task, *, now: datetime, why: str) -> Transition:
    """Its lease is over, and nobody is to try it again."""
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
    """For a task as a restored table shows it. Tokens were given away since, and receivers refuse a lower one than the
    highest they saw. None for a task that has ended, and for one whose token was raised for that reason already."""
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
