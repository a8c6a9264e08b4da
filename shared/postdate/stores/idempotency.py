"""Which item an Idempotency-Key stands for, and what was asked with it.

The key's row is written before the item. A crash between the two leaves a row without an item; the caller's own
retry finds it and goes on from there.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import DoesNotExist, PutError
from pynamodb.models import Model

from postdate.domain import instants
from postdate.stores.faults import is_refused, translated
from postdate.stores.rows import Connection


@dataclass(frozen=True, kw_only=True, slots=True)
class Reservation:
    """What one key stands for: enough to answer a second time as at the first."""

    tenant: str
    key: str
    fingerprint: str
    item_id: str
    due_at: datetime
    created_at: datetime
    keep_until: datetime | None


class Reservations(Protocol):
    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        """Writes it, unless the key stands for something already: then that is answered."""

    def find(self, tenant: str, key: str) -> Reservation | None:
        """What the key stands for."""

    def replace(self, found: Reservation, wanted: Reservation) -> bool:
        """Lets the key stand for another item; False when somebody else was faster."""


class _Row(Model):
    key = UnicodeAttribute(hash_key=True)
    fingerprint = UnicodeAttribute()
    item_id = UnicodeAttribute()
    due = NumberAttribute()
    created = NumberAttribute()
    expires_at = NumberAttribute(null=True)


class DynamoReservations:
    def __init__(self, *, table: str) -> None:
        class Rows(_Row):
            class Meta(Connection):
                table_name = table

        self._rows = Rows

    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        free = self._rows.key.does_not_exist() | (self._rows.expires_at < int(now.timestamp()))
        with translated():
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
                row = self._rows.get(_hash(tenant, key), consistent_read=True)
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
        )

    def replace(self, found: Reservation, wanted: Reservation) -> bool:
        with translated():
            try:
                self._row(wanted).save(condition=self._rows.item_id == found.item_id)
            except PutError as error:
                if not is_refused(error):
                    raise
                # It may be our own first try, whose answer got lost.
                now = self.find(wanted.tenant, wanted.key)
                return now is not None and now.item_id == wanted.item_id
        return True

    def _row(self, reservation: Reservation) -> _Row:
        keep_until = reservation.keep_until
        return self._rows(
            key=_hash(reservation.tenant, reservation.key),
            fingerprint=reservation.fingerprint,
            item_id=reservation.item_id,
            due=instants.milliseconds(reservation.due_at),
            created=instants.milliseconds(reservation.created_at),
            expires_at=None if keep_until is None else int(keep_until.timestamp()),
        )


class MemoryReservations:
    def __init__(self) -> None:
        self._kept: dict[str, Reservation] = {}

    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        found = self.find(wanted.tenant, wanted.key)
        if found is None or (found.keep_until is not None and found.keep_until < now):
            found = self._kept[_hash(wanted.tenant, wanted.key)] = wanted
        return found

    def find(self, tenant: str, key: str) -> Reservation | None:
        return self._kept.get(_hash(tenant, key))

    def replace(self, found: Reservation, wanted: Reservation) -> bool:
        kept = self.find(found.tenant, found.key)
        if kept is None or kept.item_id != found.item_id:
            return False
        self._kept[_hash(found.tenant, found.key)] = wanted
        return True


def _hash(tenant: str, key: str) -> str:
    """The tenant stands in the row's key in the clear, so that no key reaches another tenant's row."""
    return f"{tenant}#{hashlib.sha256(key.encode()).hexdigest()}"
