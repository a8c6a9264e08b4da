"""The repair of money after a restore: three tables, each of which may show another instant.

    the journal     decides which payments have moved their amount
    the payments    decide what is held
    the accounts    follow from both

A payment with a movement is completed, a completed payment without one gets it, and a movement without its payment gets
that. An account that is as old as the rest, or older, is set to what journal and payments say. One that is newer knows
more than they do: its cancels, failures and new registrations are lost. Nobody can tell then which of its open payments
still hold, so they are left to a person. Nothing here moves money a second time: what the journal has is never posted.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from postdate.domain import settlement
from postdate.domain.errors import NotRecoverable
from postdate.domain.invariants import Books
from postdate.domain.item import Phase
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.payment import Funding, HistoryLine, Payment, State
from postdate.domain.posting import Leg, Posting

_UNIQUE_CHARACTERS: Final = 20


class Kept(StrEnum):
    """The kinds of rows about money. Each kind has a table of its own, which is restored by itself."""

    PAYMENTS = "payments"
    ACCOUNTS = "accounts"
    JOURNAL = "journal"


class NotTogether(NotRecoverable):
    """Payments and journal were restored, and the accounts were not: restore the table accounts to that instant too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Restored:
    """The tables of money that were restored. The others show the moment at which the loss was noticed."""

    # The restored tables.
    kept: frozenset[Kept]
    # The instant that they show.
    since: datetime

    def check(self) -> None:
        """Raises NotTogether: without its movement and with an old payment, nothing says that an amount has moved."""
        if self.kept == {Kept.PAYMENTS, Kept.JOURNAL}:
            raise NotTogether

    @property
    def accounts_follow(self) -> bool:
        return Kept.ACCOUNTS in self.kept

    @property
    def why(self) -> str:
        return f"restored to {self.since.isoformat()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mended:
    """The repair of one account. Neither field is set for a sound account."""

    # The change that makes the account agree with its journal and its payments.
    posting: Posting | None = None
    # The reason why no change can do that.
    unsound: str | None = None


def matched(books: Books, restored: Restored, *, now: datetime) -> Iterator[Posting]:
    """The changes that make payments and movements of this payer agree. None of them changes an account."""
    payments = {each.id: each for each in books.payments if each.payer == books.account.id}
    moved = {
        each.payment_id: each
        for each in books.movements
        if each.type is Type.PAYMENT and each.payer == books.account.id
    }
    for id, movement in moved.items():
        known = payments.get(id or "")
        if known is None and movement.payment_id in books.archived:
            # A backup is 35 days old at most: the payment had left its table before, with all that it tells.
            continue
        if known is None:
            yield Posting(tenant=movement.tenant, at=now, after=_rebuilt(movement, restored))
        elif not known.state.is_final:
            yield settlement.complete_as_moved(known, movement, now=now, why=restored.why)
    for payment in payments.values():
        if payment.state is State.COMPLETED and payment.id not in moved:
            movement = settlement.movement_of(payment, at=payment.finished_at or payment.planned_at)
            yield Posting(tenant=payment.tenant, at=now, movement=movement)


def balanced(books: Books, restored: Restored, *, now: datetime) -> Mended:
    """Decides how an account comes to agree with its journal and its payments, or why it cannot. Comes after
    `matched`."""
    account = books.account
    reserved, balance = books.held, books.moved
    if wrong := _contradictions(books):
        return Mended(unsound=f"payments that ended otherwise have movements: {', '.join(wrong)}")
    if (account.balance, account.reserved) == (balance, reserved):
        return Mended()
    differs = (
        f"{account.balance} there, {balance} by its journal; {account.reserved} reserved, {reserved} held"
    )
    # The account is no newer than journal and payments, so they know all that it knows.
    if restored.accounts_follow and balance >= reserved:
        leg = Leg(
            account=account.id,
            available=balance - reserved - account.available,
            reserved=reserved - account.reserved,
            needs_active=False,
            # Refused if the account changes after this read.
            at_version=account.version,
        )
        return Mended(posting=_adjusted(books, restored, now=now, amount=0, leg=leg))
    # Only movements are lost. The difference goes into the journal, and the account stays.
    if restored.kept == {Kept.JOURNAL} and account.reserved == reserved:
        return Mended(posting=_adjusted(books, restored, now=now, amount=account.balance - balance))
    return Mended(unsound=differs)


def left_to_a_person(books: Books, restored: Restored, *, now: datetime) -> list[Posting]:
    """Returns postings that park payments, for an unsound account. They are the payments that this account pays, and
    that have neither ended nor been parked."""
    return [
        settlement.park(payment, now=now, why=f"{restored.why}, and its later changes are unknown")
        for payment in books.payments
        if payment.payer == books.account.id and payment.phase is not Phase.RESTS
    ]


def _contradictions(books: Books) -> list[str]:
    """The payments of this payer that failed or were cancelled, and have a movement all the same. The payee's side is
    left out, so each payment is judged once."""
    ended = {
        each.id
        for each in books.payments
        if each.payer == books.account.id and each.state in (State.FAILED, State.CANCELLED)
    }
    return sorted(each.payment_id for each in books.movements if each.payment_id and each.payment_id in ended)


def _rebuilt(movement: Movement, restored: Restored) -> Payment:
    """The payment, as far as its movement shows it. Description and metadata are lost."""
    at = movement.at
    line = HistoryLine(version=1, at=at, to=State.COMPLETED, why=f"rebuilt, {restored.why}", attempt=1)
    return Payment(
        id=movement.payment_id or "",
        tenant=movement.tenant,
        payer=movement.payer or "",
        payee=movement.payee or "",
        amount=movement.amount,
        funding=Funding.RESERVE,
        state=State.COMPLETED,
        version=1,
        planned_at=at,
        due_at=at,
        created_at=at,
        moved_at=at,
        attempts=1,
        finished_at=at,
        history=(line,),
    )


def _adjusted(
    books: Books, restored: Restored, *, now: datetime, amount: int, leg: Leg | None = None
) -> Posting:
    """A posting that changes the account by `leg`, if any, and records an adjustment in the journal. The movement's id
    follows from the state of the account, so a repetition adds nothing."""
    account = books.account
    named = f"{account.tenant} {account.id} {account.version} {restored.since.isoformat()}"
    told = "" if leg is None else f" (available {leg.available:+}, reserved {leg.reserved:+})"
    movement = Movement(
        id=movement_id(restored.since, hashlib.sha256(named.encode()).hexdigest()[:_UNIQUE_CHARACTERS]),
        tenant=account.tenant,
        type=Type.ADJUSTMENT,
        payer=account.id if amount < 0 else None,
        payee=account.id if amount >= 0 else None,
        amount=abs(amount),
        at=now,
        reason=restored.why + told,
    )
    return Posting(tenant=account.tenant, at=now, legs=() if leg is None else (leg,), movement=movement)
