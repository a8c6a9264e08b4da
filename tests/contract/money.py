"""Accounts and payments of a tenant of the test's own, and what may happen to them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from typing import Any, Final

from postdate.domain import money, settlement
from postdate.domain.account import Account
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.payment import KIND, Payment, Terms
from postdate.domain.posting import Leg, Posting
from postdate.domain.slots import UNIQUE_BYTES, item_id
from postdate.stores.ledger import Ledger, PostingAnswer
from tests.contract.examples import LISTING_SHARDS, PLAN

MINUTE: Final = timedelta(minutes=1)
_uniques = count(1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Money:
    """Payments are due at `now` unless said otherwise, registered a minute before."""

    ledger: Ledger
    now: datetime

    @property
    def tenant(self) -> str:
        return f"tenant-{self.now:%Y%m%d%H}"

    def accounts(self, **balances: int) -> None:
        """Open, with that much available."""
        for id, available in balances.items():
            assert self.ledger.open(
                Account(id=id, tenant=self.tenant, created_at=self.now, updated_at=self.now)
            )
            if available:
                assert self.answers(self.deposit(id, available)) == [PostingAnswer.DONE]

    def deposit(self, account: str, amount: int) -> Posting:
        movement = Movement(
            id=movement_id(self.now - MINUTE, f"{next(_uniques):016d}"),
            tenant=self.tenant,
            type=Type.DEPOSIT,
            payer=None,
            payee=account,
            amount=amount,
            at=self.now - MINUTE,
        )
        legs = (Leg(account=account, available=amount),)
        return Posting(tenant=self.tenant, at=self.now - MINUTE, legs=legs, movement=movement)

    def payment(
        self, payer: str, payee: str, amount: int, *, listed_under: int | None = None, **fields: Any
    ) -> Posting:
        due_at = fields.pop("due_at", self.now)
        unique = next(
            unique
            for unique in (next(_uniques).to_bytes(UNIQUE_BYTES) for _ in range(1000))
            if listed_under in (None, unique[-1] % LISTING_SHARDS)
        )
        return money.register(
            Terms(payer=payer, payee=payee, amount=amount, **fields),
            id=item_id(KIND, PLAN.slot(due_at, unique), unique),
            tenant=self.tenant,
            due_at=due_at,
            now=self.now - MINUTE,
        )

    def registered(self, payer: str, payee: str, amount: int, **fields: Any) -> Payment:
        posting = self.payment(payer, payee, amount, **fields)
        assert self.answers(posting) == [PostingAnswer.DONE]
        assert posting.after is not None
        return posting.after

    def settle(self, payment: Payment) -> Posting:
        return settlement.settle(payment, now=max(self.now, payment.planned_at))

    def answers(self, *postings: Posting) -> list[PostingAnswer]:
        return [posted.answer for posted in self.ledger.post(postings)]

    def balances(self, *accounts: str) -> list[tuple[int, int]]:
        """Available and reserved."""
        found = self.ledger.accounts(self.tenant, accounts)
        return [(found[id].available, found[id].reserved) for id in accounts]

    def journal(self, account: str) -> list[Movement]:
        return self.ledger.movements(self.tenant, account, after="", limit=1000)
