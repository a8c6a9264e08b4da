"""Units as DynamoDB's documentation counts them, for what the local engine rates otherwise.

It takes any statement of a PartiQL batch for one unit, whatever the row's size and indexes, and any query for one. So
these are worked out here from the rows that the requests found and left.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from postdate.stores.row_size import size

Row: TypeAlias = dict[str, dict[str, Any]]
_WRITTEN_BYTES: Final = 1024
_READ_BYTES: Final = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Index:
    """`copied` are the attributes it holds, keys of the table included; None when it holds all."""

    keys: tuple[str, ...]
    copied: frozenset[str] | None

    @classmethod
    def of(cls, described: Mapping[str, Any], table_keys: Sequence[str]) -> "Index":
        keys = tuple(key["AttributeName"] for key in described["KeySchema"])
        projection = described["Projection"]
        if projection["ProjectionType"] == "ALL":
            return cls(keys=keys, copied=None)
        return cls(keys=keys, copied=frozenset((*keys, *table_keys, *projection.get("NonKeyAttributes", ()))))

    def entry(self, row: Row | None) -> Row | None:
        """The part of the row that the index holds; None when the row lacks one of the index's keys."""
        if row is None or any(key not in row for key in self.keys):
            return None
        return {name: value for name, value in row.items() if self.copied is None or name in self.copied}


def write_units(
    before: Row | None, after: Row | None, indexes: Iterable[Index], *, in_transaction: bool = False
) -> int:
    """The larger of both rows, twice in a transaction, and what each index has to write, which is later and once."""
    own = _started(before, after) * (2 if in_transaction else 1)
    return own + sum(_index_units(index, before, after) for index in indexes)


def read_units(rows: Iterable[Row], *, consistent: bool) -> float:
    """For rows that are rated together: those of a query. A row that is not there is read as well."""
    units = max(1, math.ceil(sum(size(row) for row in rows) / _READ_BYTES))
    return units if consistent else units / 2


def _index_units(index: Index, before: Row | None, after: Row | None) -> int:
    old, new = index.entry(before), index.entry(after)
    if old == new:
        return 0
    if old is not None and new is not None and any(old[key] != new[key] for key in index.keys):
        return _started(old) + _started(new)
    return _started(old, new)


def _started(*rows: Row | None) -> int:
    return max(1, math.ceil(max(size(row) for row in rows if row is not None) / _WRITTEN_BYTES))
