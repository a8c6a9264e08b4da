"""Reads of the journal in DynamoDB."""

from collections.abc import Iterable
from heapq import merge
from itertools import islice
from typing import Any

from pynamodb.exceptions import DoesNotExist

from postdate.domain.movement import Movement, payment_movement_id
from postdate.domain.payment import Payment
from postdate.stores import account_updates, batch_get, movement_row
from postdate.stores.faults import translated
from postdate.stores.ledger_tables import LedgerTables
from postdate.stores.rows import readable, the_one


class DynamoJournal(LedgerTables):
    def movements(
        self, tenant: str, account: str, *, after: str, limit: int, whole: bool = False
    ) -> list[Movement]:
        """Reads on for each row that is left out."""
        found: list[Movement] = []
        while (missing := limit - len(found)) > 0:
            rows = self._movement_rows(tenant, account, after, missing)
            found += _whole(rows) if whole else readable(rows, movement_row.movement_of)
            if len(rows) < missing:
                break
            after = rows[-1].place
        return found

    def _movement_rows(self, tenant: str, account: str, after: str, limit: int) -> list[Any]:
        """The next rows of the journal, merged from both directions and from all keys of its lists."""
        keys = self._listing_keys(tenant, account)
        behind = self._movements.place > after if after else None
        with translated():
            sides: list[list[Any]] = [
                list(index.query(key, behind, limit=limit))
                for index in (self._movements.by_payer, self._movements.by_payee)
                for key in keys
            ]
        return list(islice(merge(*sides, key=lambda row: str(row.place)), limit))

    def close_journal(self, tenant: str, account: str, place: str) -> None:
        self._write_row({"Update": account_updates.reading_of(self._accounts, tenant, account, place)})

    def has(self, movement: Movement) -> bool:
        key = movement_row.key(movement, listing_shards=self._listing_shards)
        with translated():
            try:
                self._movements.get(key["listing"]["S"], key["id"]["S"], consistent_read=True)
            except DoesNotExist:
                return False
        return True

    def movements_of(self, payments: Iterable[Payment]) -> list[Movement]:
        """Reads the movements of payments by their own keys. A movement may be listed under any number, if the number
        of listings was changed."""
        keys = [
            {"listing": {"S": key}, "id": {"S": payment_movement_id(payment.id)}}
            for payment in payments
            for key in self._listing_keys(payment.tenant, payment.payer)
        ]
        return _whole(batch_get.models(self._movements, keys))


def _whole(rows: Iterable[Any]) -> list[Movement]:
    return [the_one(row, movement_row.movement_of) for row in rows]
