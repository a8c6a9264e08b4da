"""Transitions of a payment and their effects on accounts: the table of those that are allowed, and those that a request
asks for. The ends of an attempt are in `settlement`.

    register   the amount moves from available to reserved, if it is to be held
    cancel     a held amount returns to available
    edit       the held amount changes with the amount

Each step is one posting, so no crash leaves a step half done. This module reads no clock and does not know the stores.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from postdate.domain.errors import InvalidState
from postdate.domain.payment import (
    HistoryLine,
    Payment,
    State,
    Terms,
)
from postdate.domain.posting import Leg, Posting

ALLOWED: Final[dict[State, frozenset[State]]] = {
    State.PENDING: frozenset(
        {State.PENDING, State.EXECUTING, State.COMPLETED, State.FAILED, State.CANCELLED}
    ),
    State.EXECUTING: frozenset({State.EXECUTING, State.COMPLETED, State.FAILED, State.CANCELLED}),
    State.COMPLETED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
# A row has room for these: the registration and the newest lines.
HISTORY_LINES_MAX: Final = 60


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


def cancel(payment: Payment, *, now: datetime, operator: bool = False) -> Posting | None:
    """Cancels a payment and releases its hold; None if it is cancelled already, because to cancel twice is no error. An
    operator may cancel while EXECUTING."""
    if payment.state is State.CANCELLED:
        return None
    if payment.state is not State.PENDING and not (operator and payment.state is State.EXECUTING):
        raise InvalidState(payment.state, f"a payment that is {payment.state} cannot be cancelled")
    after = move(payment, State.CANCELLED, now=now, why="cancelled", finished_at=now)
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, legs=released(payment))


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
    payer's version, though none of the money: a reader of the payer's list may have missed the payment meanwhile."""
    if payment.state is not State.PENDING:
        raise InvalidState(payment.state, f"a payment that is {payment.state} cannot be changed")
    if due_at is not None:
        changes |= {"planned_at": due_at, "due_at": due_at, "moved_at": now}
    if amount is not None:
        changes["amount"] = amount
    after = move(payment, State.PENDING, now=now, why=why, **changes)
    more = after.held - payment.held
    # Another instant alone needs no active account: no money moves.
    leg = Leg(account=payment.payer, available=-more, reserved=more, needs_active=more != 0)
    legs = (leg,) if more or after.planned_at != payment.planned_at else ()
    # Only a pointer leads the sweep of another minute to the payment.
    points = due_at is not None and due_at != payment.due_at and not payment.home.holds(due_at)
    return Posting(tenant=payment.tenant, at=now, before=payment, after=after, legs=legs, points=points)


def released(payment: Payment) -> tuple[Leg, ...]:
    """The leg that returns held money. A frozen account gets it as well."""
    if not payment.held:
        return ()
    return (Leg(account=payment.payer, available=payment.held, reserved=-payment.held, needs_active=False),)


def move(payment: Payment, to: State, *, now: datetime, why: str, **changes: Any) -> Payment:
    if to not in ALLOWED[payment.state]:
        raise InvalidState(payment.state, f"{to} cannot follow {payment.state}")
    # Only a payment between two attempts has a lease.
    if to is not State.EXECUTING:
        changes["lease_until"] = None
    version = payment.version + 1
    attempt = changes.get("attempts", payment.attempts)
    line = HistoryLine(version=version, at=now, to=to, why=why, attempt=attempt)
    history = (*payment.history[:1], *payment.history[1:][-(HISTORY_LINES_MAX - 2) :], line)
    return replace(payment, state=to, version=version, history=history, **changes)
