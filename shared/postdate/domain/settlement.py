"""The settlement of a payment: the verdict about its call, and one posting for each end of an attempt.

    settle     the amount leaves the payer and reaches the payee, with a row in the journal
    fail       a held amount returns to available
    stumble    no money moves: the attempt failed for a passing reason; another one follows, or a person decides

After a restore (see `mending`):

    complete_as_moved   the journal has the movement already: no money moves
    park                the outcome is unknown: no money moves, and a person decides

This module reads no clock and does not know the stores.
"""

from datetime import datetime

from postdate.domain.due import DELAY_MAX, Due
from postdate.domain.errors import InvalidState
from postdate.domain.executions import begun, ended
from postdate.domain.item import Phase
from postdate.domain.money import move, released
from postdate.domain.movement import Movement, Type, payment_movement_id
from postdate.domain.payment import (
    ExecutionStatus,
    Payment,
    State,
)
from postdate.domain.posting import Leg, Posting
from postdate.domain.retry import RetryPolicy
from postdate.domain.verdicts import Buried, Deferred, Dropped


def verdict(
    payment: Payment, due: Due, *, now: datetime, repeated: bool
) -> Deferred | Dropped | Buried | None:
    """Decides about the call of a payment; None when this call is to settle it. A payment needs no claim: the posting
    itself decides.

    `repeated`: a worker received this call before. That worker may have crashed after its commit and before it sent the
    message that follows. A payment that waits for a person is settled only by the dead letter of its present version;
    if other calls could settle it, duplicates would try for ever. A repeated call, or the call of the version before,
    makes the worker send the dead letter again: that call may be the last message left.
    """
    if payment.state.is_final:
        return Dropped(why=f"is {payment.state}")
    if payment.due_at > now:
        # The new instant has a call of its own: from the change that set it, or from the sweep.
        if due.due_at != payment.due_at and not repeated:
            return Dropped(why="moved")
        # No message waits for so long. The sweep of the new minute sends another one.
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
    # Without a hold the balance at the instant decides.
    given = (
        Leg(account=payment.payer, reserved=-payment.amount)
        if payment.held
        else Leg(account=payment.payer, available=-payment.amount)
    )
    received = Leg(account=payment.payee, available=payment.amount)
    after = move(
        payment,
        State.COMPLETED,
        now=now,
        why="settled",
        attempts=payment.attempts + 1,
        finished_at=now,
        error=None,
        error_code=None,
        executions=ended(payment, now, ExecutionStatus.SUCCESS, id=execution_id),
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
    after = move(
        payment,
        State.FAILED,
        now=now,
        why=why,
        attempts=payment.attempts + 1,
        finished_at=now,
        error=why,
        error_code=code,
        executions=ended(payment, now, ExecutionStatus.FAILED, id=execution_id, error=why),
    )
    # A hold cannot return to an account that does not exist.
    legs = released(payment) if payer_is_there else ()
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, legs=legs)


def stumble(payment: Payment, *, now: datetime, why: str, retry: RetryPolicy, draw: float) -> Posting:
    """Records an attempt that failed for a passing reason. The hold stays. Without another attempt there is no lease,
    and the payment waits for a person. A clock that was set back may show an instant before the planned one: no attempt
    is due before that. A parked payment may get attempts again after a change of the maximum. The audit of its minute
    may be over, so the retry gets a pointer."""
    retry_at = retry.next_attempt_at(attempts=payment.attempts + 1, now=now, draw=draw)
    if retry_at is not None:
        retry_at = max(retry_at, payment.planned_at)
    after = move(
        payment,
        State.EXECUTING,
        now=now,
        why=why,
        attempts=payment.attempts + 1,
        due_at=retry_at or payment.due_at,
        moved_at=now,
        lease_until=retry_at,
        error=why,
        executions=ended(payment, now, ExecutionStatus.FAILED, error=why)
        if retry_at is None
        else begun(payment, now, why),
    )
    points = payment.phase is Phase.RESTS and retry_at is not None
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, points=points)


def complete_as_moved(payment: Payment, movement: Movement, *, now: datetime, why: str) -> Posting:
    """Completes a payment that a restored table shows open although its amount has moved. No money moves again."""
    after = move(
        payment,
        State.COMPLETED,
        now=now,
        why=why,
        # The restored row may be older than the last change of the amount or of the instant.
        amount=movement.amount,
        planned_at=min(payment.planned_at, movement.at),
        attempts=payment.attempts + 1,
        finished_at=movement.at,
        error=None,
        error_code=None,
        executions=ended(payment, movement.at, ExecutionStatus.SUCCESS),
    )
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after)


def park(payment: Payment, *, now: datetime, why: str) -> Posting:
    """Leaves the payment to a person, without an attempt and without a dead letter. The hold stays."""
    after = move(payment, State.EXECUTING, now=now, why=why, lease_until=None, error=why)
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after)
