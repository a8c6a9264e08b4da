"""Reads of payments in DynamoDB, by their ids and in lists."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from heapq import merge
from itertools import islice
from typing import Any, Final

from pynamodb.exceptions import DoesNotExist

from postdate.domain.item import kind_of
from postdate.domain.payment import KIND, Payment
from postdate.domain.slots import home, is_id
from postdate.stores import batch_get, payment_row
from postdate.stores.faults import translated
from postdate.stores.ledger import ListedPayment, PaymentsWanted
from postdate.stores.ledger_tables import LedgerTables
from postdate.stores.places import between, id_at
from postdate.stores.rows import item_key, readable, the_one

_READERS: Final = 8


class DynamoPayments(LedgerTables):
    def payment(self, id: str) -> Payment | None:
        slot = home(id)
        if kind_of(id) != KIND:
            return None
        with translated():
            try:
                row = self._payments.get(slot.key, id, consistent_read=True)
            except DoesNotExist:
                return None
        return the_one(row, payment_row.payment_of)

    def payments(self, ids: Iterable[str]) -> dict[str, Payment]:
        keys = (item_key(id) for id in dict.fromkeys(ids) if is_id(id) and kind_of(id) == KIND)
        rows = batch_get.models(self._payments, keys)
        return {payment.id: payment for payment in readable(rows, payment_row.payment_of)}

    def payments_listed(self, wanted: PaymentsWanted, *, after: str, limit: int) -> list[ListedPayment]:
        """Reads each key of the list by a query of its own, in parallel."""
        lists = list(self._lists(wanted))
        ends = between(wanted.since, wanted.until, after=after, newest_first=wanted.newest_first)
        if ends is None:
            return []
        within = self._payments.place.between(*ends)

        def read(listed: tuple[Any, str]) -> list[ListedPayment]:
            index, key = listed
            forward = not wanted.newest_first
            with translated():
                found = index.query(key, within, scan_index_forward=forward, limit=limit)
                return [_listed(row) for row in found]

        with ThreadPoolExecutor(min(_READERS, len(lists))) as readers:
            entries = merge(
                *readers.map(read, lists), key=lambda entry: entry.place, reverse=wanted.newest_first
            )
            return list(islice(entries, limit))

    def _lists(self, wanted: PaymentsWanted) -> Iterator[tuple[Any, str]]:
        """The indexes and keys that together hold what is wanted, and little else."""
        for number in range(self._listing_shards):
            if wanted.state in payment_row.LISTED_BY_STATE:
                yield self._payments.by_state, payment_row.state_key(wanted.tenant, wanted.state, number)
            elif wanted.account is None:
                yield self._payments.by_tenant, payment_row.tenant_key(wanted.tenant, number)
            else:
                key = payment_row.listing_key(wanted.tenant, wanted.account, number)
                yield self._payments.by_listing, key
                yield self._payments.by_payee, key


def _listed(row: Any) -> ListedPayment:
    payer = getattr(row, "payer", None)
    return ListedPayment(
        place=row.place,
        id=id_at(row.place),
        accounts=None if payer is None else (payer, row.payee),
    )
