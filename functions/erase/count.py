"""Counts what an erasure of a tenant would do, and changes nothing. The rows are found as the erasure finds them.

A large service is counted in several calls: the answer of one, given to the next, goes on behind its place.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from functions.erase.erase import LETTERS_MAX, open_payments
from postdate.runtime.dead_letters import Letters
from postdate.stores.owned import OWNED, Owned

_TABLES: Final = tuple(OWNED)


@dataclass(kw_only=True, slots=True)
class Counted:
    """The counts so far, and the place at which the next call goes on."""

    # The number of rows that would be renamed or deleted, by table.
    rows: dict[str, int] = field(default_factory=dict)
    # The number of payments that would be cancelled.
    cancelled: int = 0
    # The sum that these payments hold.
    held: int = 0
    # The number of dead letters that would be deleted.
    letters: int = 0
    # The table at which the next call goes on; None at the end.
    table: str | None = _TABLES[0]
    # The key in that table; None for its beginning.
    after: str | None = None

    @classmethod
    def read(cls, given: Mapping[str, Any] | None) -> "Counted":
        """The answer of an earlier call, or the beginning."""
        return cls(**given) if given else cls()

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True, slots=True)
class Census:
    owned: Owned
    letters: Sequence[Letters]

    def count(self, tenant: str, found: Counted, *, has_time: Callable[[], bool]) -> Counted:
        """Goes on from `found` for as long as there is time. Raises Unavailable."""
        while found.table is not None:
            self._table(tenant, found, has_time)
            if found.table is not None and not has_time():
                return found
        found.letters = sum(self._letters(tenant, queue) for queue in self.letters)
        return found

    def _table(self, tenant: str, found: Counted, has_time: Callable[[], bool]) -> None:
        table = found.table or ""
        sums = Counter(found.rows)
        # The row of seats names its tenant in its key, where no filter of the scan finds it.
        sums[table] += len(self.owned.seats(tenant)) if table == "operations" and not found.after else 0
        for page in self.owned.pages(table, tenant, after=found.after):
            sums[table] += len(self.owned.theirs(table, tenant, page.rows))
            if table == "payments":
                waiting = open_payments(page.rows)
                found.cancelled += len(waiting)
                found.held += sum(payment.held for payment in waiting)
            found.rows, found.after = dict(sums), page.after
            if page.after is not None and not has_time():
                return
        found.table = next(iter(_TABLES[_TABLES.index(table) + 1 :]), None)

    def _letters(self, tenant: str, queue: Letters) -> int:
        """Hides letters from others for as long as it reads them."""
        seen = queue.look(LETTERS_MAX)
        queue.release(seen)
        return sum(letter.tenant == tenant for letter in seen)
