"""The store of idempotency keys: the item of each key, and the fingerprint of its request.

The key's row is written before the item. A crash between the two leaves a row without an item; the caller's own
retry finds it and goes on from there. Until it is free again a key stands for one item and no other: a second
write of that item is refused by the item's own row, whatever any clock says.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist, PutError
from pynamodb.models import Model

from postdate.domain import instants
from postdate.stores.attributes import compact
from postdate.stores.faults import is_refused, translated
from postdate.stores.rows import table_rows

if TYPE_CHECKING:
    from botocore.client import BaseClient

# More than a slow request can be behind: each closes a minute, and a request lives half of one.
_EARLIER_KEPT: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """The item of one idempotency key, with all that an equal second answer needs. The registration writes it before
    the item."""

    # The owner of the key.
    tenant: str
    # The Idempotency-Key of the request.
    key: str
    # The hash of the request. Another fingerprint under the same key is refused.
    fingerprint: str
    # The id that the item has or will have.
    item_id: str
    # The instant that the newest request gave the item.
    due_at: datetime
    # The instant of the newest request.
    created_at: datetime
    # The end of the reservation; None for payments, whose keys are kept for ever.
    keep_until: datetime | None
    # Instants, as (due_at, created_at), of earlier requests. A slow request may still write the item with one of them.
    earlier: tuple[tuple[datetime, datetime], ...] = ()

    def is_over(self, now: datetime) -> bool:
        """The key is free again, whether or not its row is still there."""
        return self.keep_until is not None and int(self.keep_until.timestamp()) < int(now.timestamp())

    def anew(self, wanted: "Reservation") -> "Reservation":
        """A reservation of the same item for a newer request, with the instant of that request. Earlier instants are
        kept."""
        return replace(
            wanted,
            item_id=self.item_id,
            earlier=(*self.earlier, (self.due_at, self.created_at))[-_EARLIER_KEPT:],
        )

    def of(self, created_at: datetime) -> "Reservation | None":
        """The reservation for the request that was made at this instant; None if no such request is remembered."""
        for due_at, then in ((self.due_at, self.created_at), *self.earlier):
            if then == created_at:
                return replace(self, due_at=due_at, created_at=then)
        return None


class Reservations(Protocol):
    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        """Writes it, unless the key stands for something already: then that is answered."""

    def find(self, tenant: str, key: str) -> Reservation | None:
        """Returns the reservation of the key, if there is one."""

    def redate(self, found: Reservation, again: Reservation) -> bool:
        """Gives the key's item another instant; False when another writer was faster."""


class _Row(Model):
    # The tenant and a hash of the key, see `row_key`.
    key = UnicodeAttribute(hash_key=True)
    fingerprint = UnicodeAttribute()
    item_id = UnicodeAttribute()
    # Instants of the newest request, in milliseconds.
    due = NumberAttribute()
    created = NumberAttribute()
    # Instants of earlier requests as JSON; missing without any.
    earlier = UnicodeAttribute(null=True)
    # Seconds; missing for payments, whose keys are kept for ever.
    expires_at = NumberAttribute(null=True)


class DynamoReservations:
    def __init__(self, *, table: str, client: "BaseClient | None" = None) -> None:
        self._rows = table_rows(_Row, table, client)

    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        # DynamoDB deletes an expired row up to days later. Until then its key is free all the same.
        free = self._rows.key.does_not_exist() | (self._rows.expires_at < int(now.timestamp()))
        with translated():
            # A row that is in the way may be deleted before it is read.
            for _ in range(3):
                try:
                    self._row(wanted).save(condition=free)
                    return wanted
                except PutError as error:
                    if not is_refused(error):
                        raise
                found = self.find(wanted.tenant, wanted.key)
                if found is not None:
                    return found
        raise RuntimeError("a reservation came and went three times")

    def find(self, tenant: str, key: str) -> Reservation | None:
        with translated():
            try:
                row = self._rows.get(row_key(tenant, key), consistent_read=True)
            except DoesNotExist:
                return None
        ends = row.expires_at
        return Reservation(
            tenant=tenant,
            key=key,
            fingerprint=row.fingerprint,
            item_id=row.item_id,
            due_at=instants.from_milliseconds(int(row.due)),
            created_at=instants.from_milliseconds(int(row.created)),
            keep_until=None if ends is None else instants.from_milliseconds(int(ends) * 1000),
            earlier=tuple(
                (instants.from_milliseconds(due), instants.from_milliseconds(created))
                for due, created in json.loads(row.earlier or "[]")
            ),
        )

    def redate(self, found: Reservation, again: Reservation) -> bool:
        was = self._row(found)
        unchanged = (
            (self._rows.item_id == was.item_id)
            & (self._rows.due == was.due)
            & (self._rows.created == was.created)
        )
        with translated():
            try:
                self._row(again).save(condition=unchanged)
            except PutError as error:
                if not is_refused(error):
                    raise
                # The row may be the work of our own first try, whose answer got lost.
                now = self.find(again.tenant, again.key)
                return now is not None and (now.item_id, now.due_at, now.created_at) == (
                    again.item_id,
                    again.due_at,
                    again.created_at,
                )
        return True

    def _row(self, reservation: Reservation) -> _Row:
        keep_until = reservation.keep_until
        return self._rows(
            key=row_key(reservation.tenant, reservation.key),
            fingerprint=reservation.fingerprint,
            item_id=reservation.item_id,
            due=instants.milliseconds(reservation.due_at),
            created=instants.milliseconds(reservation.created_at),
            earlier=_text(reservation.earlier) if reservation.earlier else None,
            expires_at=None if keep_until is None else int(keep_until.timestamp()),
        )


def _text(earlier: Iterable[tuple[datetime, datetime]]) -> str:
    return compact([[instants.milliseconds(each) for each in pair] for pair in earlier])


def row_key(tenant: str, key: str) -> str:
    """The tenant stands in the row's key in the clear, so that no key reaches another tenant's row."""
    return f"{tenant}#{hashlib.sha256(key.encode()).hexdigest()}"
