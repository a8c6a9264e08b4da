"""Reconciliations in memory, for tests."""

from collections.abc import Iterator

from postdate.domain.reconciling import Reconciliation


class MemoryReconciliations:
    def __init__(self) -> None:
        self.rows: dict[str, Reconciliation] = {}

    def put(self, found: Reconciliation) -> None:
        self.rows.setdefault(found.id, found)

    def get(self, id: str) -> Reconciliation | None:
        return self.rows.get(id)

    def newest(self, *, before: str, limit: int) -> list[Reconciliation]:
        ids = sorted((id for id in self.rows if not before or id < before), reverse=True)
        return [self.rows[id] for id in ids[:limit]]

    def each(self) -> Iterator[Reconciliation]:
        return iter(self.newest(before="", limit=len(self.rows)))

    def change(self, after: Reconciliation) -> bool:
        stored = self.rows.get(after.id)
        if stored is None or stored.version != after.version - 1:
            return stored == after
        self.rows[after.id] = after
        return True
