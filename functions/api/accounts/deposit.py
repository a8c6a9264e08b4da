"""Money from the world outside, and corrections of a balance: one posting each, under a key of the caller's.

The key's row comes first and fixes the movement's id and instant. A crash between the two is repaired by the caller's
own retry, which makes the same movement; the ledger takes it once. A deposit is refused by a frozen account. An
adjustment is how an operator sets a balance right, so it is not.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from functions.api import idempotency
from functions.api.accounts.find import find
from functions.api.refusals import refusal
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.posting import Leg, Posting
from postdate.runtime.clock import Clock
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.ledger import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class DepositOrder:
    """A parsed request for a deposit or an adjustment."""

    # DEPOSIT or ADJUSTMENT, as the movement has it.
    type: Type
    # The account.
    account: str
    # The amount that the account gets; below 0 if it loses money.
    amount: int
    # The reason of an adjustment; None for a deposit.
    reason: str | None = None
    # The reference, the description and the metadata of a deposit; empty for an adjustment.
    note: Mapping[str, Any] = field(default_factory=dict)
    # The key of the request, kept for ever with the movement that it made.
    idempotency_key: str
    # The hash of the request. A second request with the same key must have the same.
    fingerprint: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    # The movement, as the first request with its key made it.
    movement: Movement
    # True if an earlier request had the same key.
    replayed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Cashier:
    ledger: Ledger
    reservations: Reservations
    clock: Clock
    unique: Callable[[], bytes]

    def move(self, tenant: str, order: DepositOrder) -> Moved:
        find(self.ledger, tenant, order.account)
        now = self.clock.now()
        wanted = Reservation(
            tenant=tenant,
            # Keys of deposits, of adjustments and of payments do not meet.
            key=f"{order.type.lower()} {order.idempotency_key}",
            fingerprint=order.fingerprint,
            item_id=movement_id(now, self.unique().hex()),
            due_at=now,
            created_at=now,
            keep_until=None,
        )
        # True in any case: a repetition keeps the id and the instant, and the ledger writes one movement of an id.
        reservation = idempotency.stands_for(self.reservations, wanted, now=now, written=lambda _: True)
        posting = _posting(tenant, order, reservation, now=now)
        (posted,) = self.ledger.post([posting])
        if error := refusal(posted):
            raise error
        assert posting.movement is not None  # noqa: S101 (that is what it is made of)
        return Moved(movement=posting.movement, replayed=reservation is not wanted)


def _posting(tenant: str, order: DepositOrder, reservation: Reservation, *, now: datetime) -> Posting:
    """The movement has the instant of the first request. The account's row has the instant of this change."""
    gives = order.amount < 0
    movement = Movement(
        id=reservation.item_id,
        tenant=tenant,
        type=order.type,
        payer=order.account if gives else None,
        payee=None if gives else order.account,
        amount=abs(order.amount),
        at=reservation.created_at,
        reason=order.reason,
        **order.note,
    )
    leg = Leg(account=order.account, available=order.amount, needs_active=order.type is Type.DEPOSIT)
    return Posting(tenant=tenant, at=now, legs=(leg,), movement=movement)
