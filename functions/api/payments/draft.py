"""Reads an order as the payment that it makes, before anything is written, and says what forbids it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from functions.api.refusals import closed, frozen, unknown
from postdate.domain import money
from postdate.domain.account import Account, Status
from postdate.domain.errors import PostdateError
from postdate.domain.payment import Payment, Terms
from postdate.domain.posting import Posting
from postdate.stores.idempotency import Reservation


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentOrder:
    """A parsed request for a payment."""

    # The fields that the owner of the payment gives.
    terms: Terms
    # The instant of the request, which may lie in the past for a key that is known.
    due_at: datetime
    # The field that named the instant, for errors about it.
    instant_field: str
    # The key of the request.
    idempotency_key: str
    # The hash of the request. A second request with the same key must have the same.
    fingerprint: str
    # The error of a request that cannot be accepted now; None without one. The error counts only while the
    # payment was never written: an answer that was given once is given again, whatever has happened since.
    refusal: PostdateError | None = None
    # The author of the registration.
    actor: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """The payment of an order, not yet known to be written."""

    order: PaymentOrder
    # The row of the key. It names the id and the instant of the first request.
    reservation: Reservation
    # The write that registers the payment, at the instant of this request.
    posting: Posting
    # The payment as the first request with this key made it.
    payment: Payment
    # True if an earlier request reserved the key.
    found: bool

    @property
    def signed(self) -> Posting:
        return self.posting.signed(self.order.actor)


def within_limits(order: PaymentOrder, accounts: Mapping[str, Account]) -> PaymentOrder:
    """The order with a refusal if the payer's limits do not allow its amount. The refusal counts before the key is
    reserved, so that the key is free for another amount."""
    if order.refusal is not None or order.terms.payer not in accounts:
        return order
    try:
        accounts[order.terms.payer].limits.check_amount(order.terms.amount)
    except PostdateError as error:
        return replace(order, refusal=error)
    return order


def objection(draft: Draft, accounts: Mapping[str, Account]) -> PostdateError | None:
    """The reason why the accounts do not allow a payment that is not written yet; None if they do."""
    for id in (draft.payment.payer, draft.payment.payee):
        if id not in accounts:
            return unknown(id)
    for id in (draft.payment.payer, draft.payment.payee):
        match accounts[id].status:
            case Status.FROZEN:
                return frozen(id)
            case Status.CLOSED:
                return closed(id)
            case Status.ACTIVE:
                continue
            case _:
                assert_never(accounts[id].status)
    limits, payment = accounts[draft.payment.payer].limits, draft.payment
    try:
        limits.check_amount(payment.amount)
        limits.check_delay(payment.planned_at - payment.created_at, field=draft.order.instant_field)
    except PostdateError as error:
        return error
    return None


def draft_of(
    tenant: str, order: PaymentOrder, reservation: Reservation, now: datetime, *, found: bool
) -> Draft:
    """The payment of a request under its reservation: a new one, or the first answer rebuilt from the repeated request.
    It is created at the instant of the reservation. The instant of writing is now, for the closing pass."""
    posting = money.register(
        order.terms,
        id=reservation.item_id,
        tenant=tenant,
        due_at=reservation.due_at,
        now=reservation.created_at,
    )
    assert posting.after is not None  # noqa: S101 (it is what a registration makes)
    payment = posting.after
    written = replace(
        posting,
        at=now,
        after=replace(payment, moved_at=now),
        points=not payment.home.holds(payment.due_at),
    )
    return Draft(order=order, reservation=reservation, posting=written, payment=payment, found=found)
