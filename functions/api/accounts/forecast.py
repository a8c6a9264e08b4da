"""What an account will have if nothing else happens: every payment of it that is still to come, in order.

What it receives is taken as coming. What it cannot cover at the instant will fail then and move nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from postdate.domain.account import Account
from postdate.domain.errors import LimitExceeded
from postdate.domain.payment import Payment
from postdate.stores.ledger import Ledger, Wanted

PAYMENTS_MAX: Final = 10_000
LOOKED_AT_MAX: Final = 50_000
MOVEMENTS_SHOWN: Final = 100
_READ_AT_ONCE: Final = 500
_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    payment_id: str
    at: datetime
    amount: int
    balance: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    now: Account
    then: Account
    until: datetime
    falls_short_at: datetime | None
    steps: tuple[Step, ...]


def forecast(account: Account, until: datetime, ledger: Ledger) -> Forecast:
    coming = [payment for payment in _coming(account, until, ledger) if payment.due_at <= until]
    if len(coming) > PAYMENTS_MAX:
        message = f"leaves more than {PAYMENTS_MAX} payments to look at: name a nearer instant"
        raise LimitExceeded([("until", message)])
    then, short_at, steps = account, None, list[Step]()
    for payment in sorted(coming, key=lambda each: (each.due_at, each.id)):
        after = _after(then, payment)
        if after.available < 0:
            short_at = short_at or payment.due_at
            continue
        then = after
        amount = -payment.amount if payment.payer == account.id else payment.amount
        steps.append(Step(payment_id=payment.id, at=payment.due_at, amount=amount, balance=then.balance))
    return Forecast(
        now=account, then=then, until=until, falls_short_at=short_at, steps=tuple(steps[:MOVEMENTS_SHOWN])
    )


def _after(account: Account, payment: Payment) -> Account:
    if payment.payer != account.id:
        return replace(account, available=account.available + payment.amount)
    if payment.held:
        return replace(account, reserved=account.reserved - payment.amount)
    return replace(account, available=account.available - payment.amount)


def _coming(account: Account, until: datetime, ledger: Ledger) -> Iterator[Payment]:
    """All that have not ended and are planned for that instant at the latest."""
    looked_at = islice(_ids(account, until, ledger), LOOKED_AT_MAX + 1)
    count = 0
    while ids := list(islice(looked_at, _READ_AT_ONCE)):
        count += len(ids)
        if count > LOOKED_AT_MAX:
            message = f"has more than {LOOKED_AT_MAX} payments, which is too many for a forecast"
            raise LimitExceeded([("account_id", message)])
        for payment in ledger.payments(ids).values():
            if payment.tenant == account.tenant and not payment.state.is_final:
                yield payment


def _ids(account: Account, until: datetime, ledger: Ledger) -> Iterator[str]:
    wanted = Wanted(tenant=account.tenant, account=account.id, until=until + _MILLISECOND)
    after = ""
    while found := ledger.payments_listed(wanted, after=after, limit=_READ_AT_ONCE):
        yield from (each.id for each in found)
        after = found[-1].place
