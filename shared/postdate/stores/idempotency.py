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
from postdate.stores.faults import translated
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
                    if error.cause_response_code != "ConditionalCheckFailedException":
                        raise
                try:
                    return self._reservation(self._rows.get(_hash(wanted), consistent_read=True), wanted)
                except DoesNotExist:
                    continue
        raise RuntimeError("a reservation came and went three times")

    def replace(self, found: Reservation, wanted: Reservation) -> bool:
        with translated():
            try:
                self._row(wanted).save(condition=self._rows.item_id == found.item_id)
            except PutError as error:
                if error.cause_response_code != "ConditionalCheckFailedException":
                    raise
                return False
        return True

    def _row(self, reservation: Reservation) -> _Row:
        keep_until = reservation.keep_until
        return self._rows(
            key=_hash(reservation),
            fingerprint=reservation.fingerprint,
            item_id=reservation.item_id,
            due=instants.milliseconds(reservation.due_at),
            created=instants.milliseconds(reservation.created_at),
            expires_at=None if keep_until is None else int(keep_until.timestamp()),
        )

    @staticmethod
    def _reservation(row: _Row, wanted: Reservation) -> Reservation:
        return Reservation(
            tenant=wanted.tenant,
            key=wanted.key,
            fingerprint=row.fingerprint,
            item_id=row.item_id,
            due_at=instants.from_milliseconds(int(row.due)),
            created_at=instants.from_milliseconds(int(row.created)),
            keep_until=None
            if row.expires_at is None
            else instants.EPOCH + instants.MINUTE * row.expires_at / 60,
        )


class MemoryReservations:
    def __init__(self) -> None:
        self._kept: dict[str, Reservation] = {}

    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        found = self._kept.get(_hash(wanted))
        if found is None or (found.keep_until is not None and found.keep_until < now):
            found = self._kept[_hash(wanted)] = wanted
        return found

    def replace(self, found: Reservation, wanted: Reservation) -> bool:
        kept = self._kept.get(_hash(found))
        if kept is None or kept.item_id != found.item_id:
            return False
        self._kept[_hash(found)] = wanted
        return True


def _hash(reservation: Reservation) -> str:
    """The tenant is a part of the hash and of the row's key in the clear, so no key reaches another tenant's row."""
    return f"{reservation.tenant}#{hashlib.sha256(reservation.key.encode()).hexdigest()}"
