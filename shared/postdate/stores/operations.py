"""Operations and their items. Each change is conditional on the version that it was decided from."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from postdate.domain.operation import Operation
from postdate.domain.operation_moves import ACTIVE
from postdate.domain.operation_pages import Page
from postdate.domain.operation_seats import Seats


class Operations(Protocol):
    def add(self, operation: Operation, pages: Sequence[Page]) -> None:
        """Writes the pages, and then the operation: an operation that can be read has all its items."""

    def get(self, id: str) -> Operation | None:
        """The operation, by a consistent read; None if there is none."""

    def change(self, after: Operation) -> bool:
        """False if the operation is no longer at the version before. A change that is stored already counts as done."""

    def pages(self, operation: Operation, *, first: int, limit: int) -> list[Page]:
        """The pages from this number on, by a consistent read."""

    def change_page(self, after: Page) -> bool:
        """False if the stored page is no longer at the version before. A change that is stored already counts as
        done."""

    def listed(self, tenant: str, *, before: str, limit: int) -> list[str]:
        """Ids of a tenant's operations, the newest first; from the end when `before` is empty. A moment behind."""

    def active(self) -> list[str]:
        """Ids of the operations of all tenants that run or are paused, the oldest first. A moment behind."""

    def seats(self, tenant: str) -> Seats:
        """The tenant's seats, by a consistent read."""

    def change_seats(self, after: Seats) -> bool:
        """False if the stored seats are no longer at the version before. A change that is stored already counts as
        done."""


class MemoryOperations:
    def __init__(self) -> None:
        self._operations: dict[str, Operation] = {}
        self._pages: dict[tuple[str, int], Page] = {}
        self._seats: dict[str, Seats] = {}

    def add(self, operation: Operation, pages: Sequence[Page]) -> None:
        for page in pages:
            self._pages.setdefault((page.operation, page.number), page)
        self._operations.setdefault(operation.id, operation)

    def get(self, id: str) -> Operation | None:
        return self._operations.get(id)

    def change(self, after: Operation) -> bool:
        stored = self._operations.get(after.id)
        if stored == after:
            return True
        if stored is None or stored.version != after.version - 1:
            return False
        self._operations[after.id] = after
        return True

    def pages(self, operation: Operation, *, first: int, limit: int) -> list[Page]:
        numbers = range(first, min(first + limit, operation.pages))
        return [replace(self._pages[operation.id, number]) for number in numbers]

    def change_page(self, after: Page) -> bool:
        stored = self._pages.get((after.operation, after.number))
        if stored == after:
            return True
        if stored is None or stored.version != after.version - 1:
            return False
        self._pages[after.operation, after.number] = after
        return True

    def listed(self, tenant: str, *, before: str, limit: int) -> list[str]:
        ids = sorted((each.id for each in self._operations.values() if each.tenant == tenant), reverse=True)
        return [id for id in ids if not before or id < before][:limit]

    def active(self) -> list[str]:
        return sorted(each.id for each in self._operations.values() if each.state in ACTIVE)

    def seats(self, tenant: str) -> Seats:
        return self._seats.get(tenant) or Seats(tenant=tenant)

    def change_seats(self, after: Seats) -> bool:
        stored = self.seats(after.tenant)
        if stored == after:
            return True
        if stored.version != after.version - 1:
            return False
        self._seats[after.tenant] = after
        return True
