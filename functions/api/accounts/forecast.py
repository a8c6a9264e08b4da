"""The forecast of an account: its balance after each payment that is still to come, in their order.

Incoming payments count as paid. An outgoing payment that the balance does not cover at its instant fails and moves
nothing. A forecast that takes too long ends early, and its cursor continues from the balances at that place.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.account import Account
from postdate.domain.payment import KIND, Payment, State
from postdate.stores.ledger import Ledger, PaymentsWanted

MOVEMENTS_SHOWN: Final = 100
_READ_AT_ONCE: Final = 200
# The texts of `Forecast.mark`, with a place of the ledger's list at the end.
_MARK: Final = re.compile(
    rf"[0-9]{{1,13}}( [0-9]{{1,15}}){{4}} [0-9]{{0,13}} [0-9]{{13}}{KIND}_[0-9a-z]{{24}}"
)
_MILLISECOND: Final = timedelta(milliseconds=1)
# Whatever was due before has ended long ago, or is EXECUTING and waits for a person.
_BEHIND: Final = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceStep:
    # The payment.
    payment_id: str
    # The instant at which the payment is due.
    at: datetime
    # Below 0 if the account pays.
    amount: int
    # The balance of the account after the payment.
    balance: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """A forecast, which may be incomplete."""

    # The account as it was when the forecast began.
    before: Account
    # The account after all payments that were read.
    after: Account
    # The last instant of the forecast.
    until: datetime
    # The instant of the first payment that the money would not cover; None if all are covered.
    falls_short_at: datetime | None
    # The first payments that are covered, as many as the answer shows.
    steps: tuple[BalanceStep, ...]
    # The place at which the ledger's list goes on; None when all payments up to `until` were read.
    place: str | None = None

    @property
    def mark(self) -> str:
        """A text from which `going_on` continues the forecast."""
        short = "" if self.falls_short_at is None else str(instants.milliseconds(self.falls_short_at))
        balances = (self.before.available, self.before.reserved, self.after.available, self.after.reserved)
        return " ".join([*map(str, (instants.milliseconds(self.until), *balances)), short, self.place or ""])


def going_on(account: Account, mark: str) -> Forecast:
    """The forecast that has come to this mark. Raises ValueError for a text that is none."""
    if not _MARK.fullmatch(mark):
        raise ValueError("no mark of a forecast")
    until, *balances, short, place = mark.split(" ")
    before_available, before_reserved, available, reserved = map(int, balances)
    return Forecast(
        before=replace(account, available=before_available, reserved=before_reserved),
        after=replace(account, available=available, reserved=reserved),
        until=instants.from_milliseconds(int(until)),
        falls_short_at=instants.from_milliseconds(int(short)) if short else None,
        steps=(),
        place=place,
    )


def begun(account: Account, until: datetime) -> Forecast:
    return Forecast(before=account, after=account, until=until, falls_short_at=None, steps=(), place="")


def forecast(given: Forecast, ledger: Ledger, *, now: datetime, has_time: Callable[[], bool]) -> Forecast:
    """Goes on with a forecast for as long as there is time, with at least one read of the ledger."""
    folded = _Folded(after=given.after, short_at=given.falls_short_at)
    account, place = given.before, given.place or ""
    # Parked payments are in no minute to come. Only the first page counts them.
    if not place:
        for parked in _parked(account, now, ledger):
            folded.add(parked, account.id)
    wanted = PaymentsWanted(
        tenant=account.tenant, account=account.id, since=now - _BEHIND, until=given.until + _MILLISECOND
    )
    while True:
        listed = ledger.payments_listed(wanted, after=place, limit=_READ_AT_ONCE)
        found = ledger.payments([each.id for each in listed])
        # The index may list a payment twice after its instant changed.
        for id in dict.fromkeys(each.id for each in listed):
            payment = found.get(id)
            if payment is not None and _is_coming(payment, account) and payment.due_at <= given.until:
                folded.add(payment, account.id)
        place = listed[-1].place if listed else place
        if len(listed) < _READ_AT_ONCE:
            return folded.into(given, place=None)
        if not has_time():
            return folded.into(given, place=place)


@dataclass(kw_only=True, slots=True)
class _Folded:
    # The account after the payments so far.
    after: Account
    # The instant of the first payment that was not covered; None if all were.
    short_at: datetime | None
    # The first payments that were covered.
    steps: list[BalanceStep] = field(default_factory=list)

    def add(self, payment: Payment, account: str) -> None:
        after = _if_settled(self.after, payment)
        # The payment would fail, so it moves nothing.
        if after.available < 0:
            self.short_at = self.short_at or payment.due_at
            return
        self.after = after
        amount = -payment.amount if payment.payer == account else payment.amount
        if len(self.steps) < MOVEMENTS_SHOWN:
            self.steps.append(
                BalanceStep(payment_id=payment.id, at=payment.due_at, amount=amount, balance=after.balance)
            )

    def into(self, given: Forecast, *, place: str | None) -> Forecast:
        return replace(
            given, after=self.after, falls_short_at=self.short_at, steps=tuple(self.steps), place=place
        )


def _if_settled(account: Account, payment: Payment) -> Account:
    """The account as if the payment were settled. `available` below 0 means that the balance does not cover the
    payment; the caller then throws the result away."""
    if payment.payer != account.id:
        return replace(account, available=account.available + payment.amount)
    if payment.held:
        return replace(account, reserved=account.reserved - payment.amount)
    return replace(account, available=account.available - payment.amount)


def _is_coming(payment: Payment, account: Account) -> bool:
    sides = (payment.payer, payment.payee)
    return payment.tenant == account.tenant and account.id in sides and not payment.state.is_final


def _parked(account: Account, now: datetime, ledger: Ledger) -> Iterator[Payment]:
    """Returns the account's parked payments that were due more than a day ago. The list that the forecast reads begins
    a day ago, so it lacks them. They are few, or an alarm has fired: one page is enough."""
    wanted = PaymentsWanted(
        tenant=account.tenant, account=account.id, state=State.EXECUTING, until=now - _BEHIND
    )
    listed = ledger.payments_listed(wanted, after="", limit=_READ_AT_ONCE)
    found = ledger.payments([each.id for each in listed])
    return (payment for payment in found.values() if _is_coming(payment, account))
