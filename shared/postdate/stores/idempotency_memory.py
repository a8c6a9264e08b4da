"""Reservations in memory, for tests."""

from datetime import datetime

from postdate.stores.idempotency import Reservation, row_key


class MemoryReservations:
    def __init__(self) -> None:
        self._kept: dict[str, Reservation] = {}

    def reserve(self, wanted: Reservation, *, now: datetime) -> Reservation:
        found = self.find(wanted.tenant, wanted.key)
        if found is None or found.is_over(now):
            found = self._kept[row_key(wanted.tenant, wanted.key)] = wanted
        return found

    def find(self, tenant: str, key: str) -> Reservation | None:
        return self._kept.get(row_key(tenant, key))

    def redate(self, found: Reservation, again: Reservation) -> bool:
        kept = self.find(found.tenant, found.key)
        if kept == found:
            self._kept[row_key(found.tenant, found.key)] = again
        return kept in (found, again)
