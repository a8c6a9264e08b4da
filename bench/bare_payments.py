"""The floor of payments: the same rows changed by the fewest transactions, prepared beforehand, nothing around them.

What a transaction holds is written by the ledger itself into a client that only notes it, so that ours and the floor
change the same rows in the same way. Sorted by payer, since nothing else makes the transactions fewer. All of it
belongs to a tenant of its own, whose books nobody audits.
"""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from bench import payments
from bench.bare import BareEngine
from bench.bed import Bed
from bench.load import Ran, side_by_side
from bench.plan import CLIENTS
from postdate.domain import money, settlement
from postdate.domain.account import Account
from postdate.domain.payment import KIND, Payment, Terms
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, item_id
from postdate.stores import account_row, payment_row

TENANT: Final = "bare"
_BALANCE: Final = 1_000_000
Transaction = list[dict[str, Any]]


class _Noted:
    """The part of a client that the ledger writes with."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []

    def transact_write_items(self, *, TransactItems: Transaction) -> None:  # noqa: N803 (boto3's name)
        self.transactions.append(TransactItems)


class BareLedger:
    def __init__(self, bed: Bed) -> None:
        self._bed = bed
        self._engine = BareEngine(bed, "PAYMENTS_TABLE")
        self._shards = ShardPlan.parse(bed.environment["SHARD_PLAN"])
        self._listing_shards = int(bed.environment["LISTING_SHARDS"])

    def waiting(self, pairs: Iterable[payments.Pair], due_at: datetime) -> list[Payment]:
        """Payments in the table as registration leaves them, and all accounts with money reserved for them."""
        waiting = [self._payment(pair, due_at) for pair in pairs]
        for account in (*payments.ACCOUNTS, payments.HOT):
            self._provide(account)
        rows = [payment_row.attributes_of(each, listing_shards=self._listing_shards) for each in waiting]
        self._engine.execute(self._engine.inserts(rows))
        return waiting

    def merged(self, waiting: Iterable[Payment]) -> list[Transaction]:
        return self._noted(sorted(waiting, key=lambda payment: (payment.payer, payment.payee)))

    def alone(self, waiting: Iterable[Payment]) -> list[Transaction]:
        return [transaction for payment in waiting for transaction in self._noted([payment])]

    def write(self, transaction: Transaction) -> None:
        self._bed.dynamodb.transact_write_items(TransactItems=transaction)

    def written(self, transactions: Iterable[Transaction]) -> Ran[None]:
        """From four threads."""
        return side_by_side(CLIENTS, transactions, lambda _: self.write)

    def _noted(self, waiting: Sequence[Payment]) -> list[Transaction]:
        noted = _Noted()
        settled = [settlement.settle(payment, now=payment.planned_at) for payment in waiting]
        payments.ledger(self._bed, noted).post(settled)
        return noted.transactions

    def _payment(self, pair: payments.Pair, due_at: datetime) -> Payment:
        unique = os.urandom(UNIQUE_BYTES)
        posting = money.register(
            Terms(payer=pair[0], payee=pair[1], amount=payments.AMOUNT),
            id=item_id(KIND, self._shards.slot(due_at, unique), unique),
            tenant=TENANT,
            due_at=due_at,
            now=datetime.now(UTC),
        )
        assert posting.after is not None  # noqa: S101 (it is what a registration makes)
        return posting.after

    def _provide(self, id: str) -> None:
        now = datetime.now(UTC)
        account = Account(
            id=id, tenant=TENANT, created_at=now, updated_at=now, available=_BALANCE, reserved=_BALANCE
        )
        self._bed.dynamodb.put_item(
            TableName=self._bed.environment["ACCOUNTS_TABLE"], Item=account_row.attributes_of(account)
        )
