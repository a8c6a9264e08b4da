"""Transitions of a payment and their effects on accounts: one table of those that are allowed, one function for each.

    register   the amount moves from available to reserved, if it is to be held
    settle     the amount leaves the payer and reaches the payee, with a row in the journal
    fail       a held amount returns to available
    cancel     a held amount returns to available
    edit       the held amount changes with the amount
    stumble    no money moves: the attempt failed for a passing reason; another one follows, or a person decides

After a restore (see `mending`):

    complete_as_moved   the journal has the movement already: no money moves
    park                the outcome is unknown: no money moves, and a person decides

Each step is one posting, so no crash leaves a step half done. This module reads no clock and does not know the stores.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from postdate.domain.due import DELAY_MAX, Due
from postdate.domain.errors import InvalidState
from postdate.domain.item import Phase
from postdate.domain.movement import Movement, Type, payment_movement_id
from postdate.domain.payment import (
    Execution,
    ExecutionStatus,
    HistoryLine,
    Payment,
    State,
    Terms,
)
from postdate.domain.posting import Leg, Posting
from postdate.domain.retry import RetryPolicy
from postdate.domain.transitions import Buried, Deferred, Dropped

ALLOWED: Final[dict[State, frozenset[State]]] = {
    State.PENDING: frozenset(
        {State.PENDING, State.EXECUTING, State.COMPLETED, State.FAILED, State.CANCELLED}
    ),
    State.EXECUTING: frozenset({State.EXECUTING, State.COMPLETED, State.FAILED, State.CANCELLED}),
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
HISTORY_LINES_MAX: Final = 60
EXECUTIONS_MAX: Final = 20


def register(terms: Terms, *, id: str, tenant: str, due_at: datetime, now: datetime) -> Posting:
    payment = Payment(
        **terms.terms,
        id=id,
        tenant=tenant,
        state=State.PENDING,
        version=1,
        planned_at=due_at,
        due_at=due_at,
        created_at=now,
        moved_at=now,
        history=(HistoryLine(version=1, at=now, to=State.PENDING, why="registered", attempt=0),),
    )
    hold = Leg(account=payment.payer, available=-payment.held, reserved=payment.held)
    legs = (hold,) if payment.held else ()
    return Posting(tenant=tenant, at=now, after=payment, legs=legs)


def verdict(
    payment: Payment, due: Due, *, now: datetime, repeated: bool
) -> Deferred | Dropped | Buried | None:
    """Decides about the call of a payment; None when this call is to settle it. A payment needs no claim: the posting
    itself decides.

    `repeated` says that a worker had the call before. If that worker crashed, it may have moved the payment, or left it
    to a person, without sending the message that belongs to that. A payment that waits for a person is settled by the
    letter of that very version and by no other call: its duplicates would try for ever. The call for the attempt before
    it may be all that the worker left behind.
    """
    if payment.state.is_final:
        return Dropped(why=f"is {payment.state}")
    if payment.due_at > now:
        if due.due_at != payment.due_at and not repeated:
            return Dropped(why="moved")
        if payment.state is State.PENDING and payment.due_at > now + DELAY_MAX:
            return Dropped(why="a later sweep has it")
        return Deferred(why="not due yet")
    if payment.phase is not Phase.RESTS or due.version == payment.version:
        return None
    is_last = due.version == payment.version - 1
    return Buried() if repeated or is_last else Dropped(why="waits for a person")


def settle(payment: Payment, *, now: datetime, execution_id: str | None = None) -> Posting:
    """Completes the payment. The movement's id follows from the payment, so a second settlement meets the first."""
    if now < payment.planned_at:
        raise InvalidState(payment.state, "the payment is not due yet")
    given = (
        Leg(account=payment.payer, reserved=-payment.amount)
        if payment.held
        else Leg(account=payment.payer, available=-payment.amount)
    )
    received = Leg(account=payment.payee, available=payment.amount)
    after = _move(
        payment,
        State.COMPLETED,
        now=now,
        why="settled",
        attempts=payment.attempts + 1,
        finished_at=now,
        error=None,
        error_code=None,
        executions=_ended(payment, now, ExecutionStatus.SUCCESS, id=execution_id),
    )
    return Posting(
        tenant=payment.tenant,
        at=now,
        before=payment,
        after=after,
        legs=(given, received),
        movement=movement_of(payment, at=now),
    )


def movement_of(payment: Payment, *, at: datetime) -> Movement:
    return Movement(
        id=payment_movement_id(payment.id),
        tenant=payment.tenant,
        type=Type.PAYMENT,
        payer=payment.payer,
        payee=payment.payee,
        amount=payment.amount,
        at=at,
        payment_id=payment.id,
    )


def fail(
    payment: Payment,
    *,
    now: datetime,
    code: str,
    why: str,
    execution_id: str | None = None,
    payer_is_there: bool = True,
) -> Posting:
    after = _move(
        payment,
        State.FAILED,
        now=now,
        why=why,
        attempts=payment.attempts + 1,
        finished_at=now,
        error=why,
        error_code=code,
        executions=_ended(payment, now, ExecutionStatus.FAILED, id=execution_id, error=why),
    )
    legs = _released(payment) if payer_is_there else ()
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, legs=legs)


def stumble(payment: Payment, *, now: datetime, why: str, retry: RetryPolicy, draw: float) -> Posting:
    """Records an attempt that failed for a passing reason. The hold stays. Without another attempt there is no lease,
    and the payment waits for a person. A clock that was set back may show an instant before the planned one: no attempt
    is due before that. A parked payment may get attempts again after a change of the maximum. The audit of its minute
    may be over, so the retry gets a pointer."""
    retry_at = retry.next_attempt_at(attempts=payment.attempts + 1, now=now, draw=draw)
    if retry_at is not None:
        retry_at = max(retry_at, payment.planned_at)
    after = _move(
        payment,
        State.EXECUTING,
        now=now,
        why=why,
        attempts=payment.attempts + 1,
        due_at=retry_at or payment.due_at,
        moved_at=now,
        lease_until=retry_at,
        error=why,
        executions=_ended(payment, now, ExecutionStatus.FAILED, error=why)
        if retry_at is None
        else _begun(payment, now, why),
    )
    points = payment.phase is Phase.RESTS and retry_at is not None
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, points=points)


def cancel(payment: Payment, *, now: datetime, operator: bool = False) -> Posting | None:
    """Cancels a payment and releases its hold; None if it is cancelled already, because to cancel twice is no error. An
    operator may cancel while EXECUTING."""
    if payment.state is State.CANCELLED:
        return None
    if payment.state is not State.PENDING and not (operator and payment.state is State.EXECUTING):
        raise InvalidState(payment.state, f"a payment that is {payment.state} cannot be cancelled")
    after = _move(payment, State.CANCELLED, now=now, why="cancelled", finished_at=now)
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, legs=_released(payment))


def edit(
    payment: Payment,
    *,
    now: datetime,
    due_at: datetime | None = None,
    amount: int | None = None,
    why: str,
    **changes: Any,
) -> Posting:
    """Changes a payment that waits; what is held follows the amount in the same write. Another instant changes the
    payer's version, though none of the money: whoever reads the payer's list meanwhile may have missed the payment."""
    if payment.state is not State.PENDING:
        raise InvalidState(payment.state, f"a payment that is {payment.state} cannot be changed")
    if due_at is not None:
        changes |= {"planned_at": due_at, "due_at": due_at, "moved_at": now}
    if amount is not None:
        changes["amount"] = amount
    after = _move(payment, State.PENDING, now=now, why=why, **changes)
    more = after.held - payment.held
    leg = Leg(account=payment.payer, available=-more, reserved=more, needs_active=more != 0)
    legs = (leg,) if more or after.planned_at != payment.planned_at else ()
    points = due_at is not None and due_at != payment.due_at and not payment.home.holds(due_at)
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, legs=legs, points=points)


def complete_as_moved(payment: Payment, movement: Movement, *, now: datetime, why: str) -> Posting:
    """Completes a payment that a restored table shows open although its amount has moved. No money moves again."""
    after = _move(
        payment,
        State.COMPLETED,
        now=now,
        why=why,
        amount=movement.amount,
        planned_at=min(payment.planned_at, movement.at),
        attempts=payment.attempts + 1,
        finished_at=movement.at,
        error=None,
        error_code=None,
        executions=_ended(payment, movement.at, ExecutionStatus.SUCCESS),
    )
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after)


def park(payment: Payment, *, now: datetime, why: str) -> Posting:
    """Leaves the payment to a person, without an attempt and without a dead letter. The hold stays."""
    after = _move(payment, State.EXECUTING, now=now, why=why, lease_until=None, error=why)
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after)


def execution_id(payment: Payment) -> str:
    """The id of the next attempt."""
    return f"exe_{payment.id.rpartition('_')[2]}_{payment.attempts + 1}"


def _released(payment: Payment) -> tuple[Leg, ...]:
    """The leg that returns held money. A frozen account gets it as well."""
    if not payment.held:
        return ()
    return (Leg(account=payment.payer, available=payment.held, reserved=-payment.held, needs_active=False),)


def _ended(
    payment: Payment,
    now: datetime,
    status: ExecutionStatus,
    *,
    id: str | None = None,
    error: str | None = None,
) -> tuple[Execution, ...]:
    execution = Execution(
        id=id or execution_id(payment),
        status=status,
        started_at=now,
        completed_at=now,
        error=error,
        retry_count=payment.attempts,
    )
    return (*_failed_before(payment, now), execution)[-EXECUTIONS_MAX:]


def _begun(payment: Payment, now: datetime, error: str) -> tuple[Execution, ...]:
    execution = Execution(
        id=execution_id(payment),
        status=ExecutionStatus.IN_PROGRESS,
        started_at=now,
        error=error,
        retry_count=payment.attempts,
    )
    return (*_failed_before(payment, now), execution)[-EXECUTIONS_MAX:]


def _failed_before(payment: Payment, now: datetime) -> tuple[Execution, ...]:
    return tuple(
        replace(each, status=ExecutionStatus.FAILED, completed_at=now)
        if each.status is ExecutionStatus.IN_PROGRESS
        else each
        for each in payment.executions
    )


def _move(payment: Payment, to: State, *, now: datetime, why: str, **changes: Any) -> Payment:
    if to not in ALLOWED[payment.state]:
        raise InvalidState(payment.state, f"{to} cannot follow {payment.state}")
    if to is not State.EXECUTING:
        changes["lease_until"] = None
    version = payment.version + 1
    attempt = changes.get("attempts", payment.attempts)
    line = HistoryLine(version=version, at=now, to=to, why=why, attempt=attempt)
    history = (*payment.history[:1], *payment.history[1:][-(HISTORY_LINES_MAX - 2) :], line)
    return replace(payment, state=to, version=version, history=history, **changes)
