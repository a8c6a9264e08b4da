"""The items that are due in a slot, tasks and payments, each with the attributes that a sweep reads."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute

from postdate.domain import instants, payment, task
from postdate.domain.due import Due
from postdate.domain.item import Item, Phase, kind_of
from postdate.domain.slots import Slot, home, is_id
from postdate.domain.tally import Fared
from postdate.stores import batch_get
from postdate.stores.attributes import AttributeMap, instant
from postdate.stores.faults import translated
from postdate.stores.rows import Row, item_key, readable, table_rows
from postdate.stores.task_lines import first_claimed_at

if TYPE_CHECKING:
    from botocore.client import BaseClient


@dataclass(frozen=True, kw_only=True, slots=True)
class TimetableEntry:
    """One entry of a slot as the sweep reads it: an item, or a pointer to an item in another slot."""

    # The call of the item.
    due: Due
    # The owner of the item.
    tenant: str
    # The instant at which `due_at` was last set. It tells the closing pass which items are new.
    moved_at: datetime
    # The phase of the item; None for a pointer.
    phase: Phase | None
    # The end of the lease; None without one.
    lease_until: datetime | None
    # Both accounts of a payment; empty for a task.
    accounts: tuple[str, ...] = ()
    # The facts for a tally, if the caller asked for them; None otherwise, and for a pointer.
    fared: Fared | None = None

    @classmethod
    def of(cls, item: Item, *accounts: str, fared: Fared | None = None) -> "TimetableEntry":
        return cls(
            due=Due.of(item),
            tenant=item.tenant,
            moved_at=item.moved_at,
            phase=item.phase,
            lease_until=item.lease_until,
            accounts=accounts,
            fared=fared,
        )


class Timetable(Protocol):
    def due_in(self, slot: Slot, *, fared: bool = False) -> Iterator[TimetableEntry]:
        """Yields an entry for each item that lives in a slot or is pointed to from it, finished or not. With `fared`,
        entries tell how the item fared."""

    def entries(self, ids: Iterable[str], *, fared: bool = False) -> dict[str, TimetableEntry]:
        """Items by their ids, wherever they are due."""


class _Row(Row):
    # Attributes of tasks, payments and pointers that decide about calls. Each means the same as in its own
    # row.
    slot = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    tenant = UnicodeAttribute()
    status = UnicodeAttribute(null=True)
    version = NumberAttribute()
    due = NumberAttribute()
    moved = NumberAttribute()
    lease = NumberAttribute(null=True)
    points_to = UnicodeAttribute(null=True)
    payer = UnicodeAttribute(null=True)
    payee = UnicodeAttribute(null=True)


class _FaredRow(_Row):
    # Attributes that a tally needs beside these.
    planned = NumberAttribute(null=True)
    attempts = NumberAttribute(null=True)
    finished = NumberAttribute(null=True)
    amount = NumberAttribute(null=True)
    history: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)


_READ = list(_Row.get_attributes())
_READ_FARED = list(_FaredRow.get_attributes())
# The end of the lease of a row that this code cannot read.
_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)


class DynamoTimetable:
    """A slot has rows in two tables: tasks in `items`, payments in `payments`. Both are read, one after the other."""

    def __init__(self, *, items_table: str, payments_table: str, client: "BaseClient | None" = None) -> None:
        self._items = table_rows(_FaredRow, items_table, client)
        self._payments = table_rows(_FaredRow, payments_table, client)

    def due_in(self, slot: Slot, *, fared: bool = False) -> Iterator[TimetableEntry]:
        for table in (self._items, self._payments):
            with translated():
                rows = table.query(slot.key, consistent_read=True, attributes_to_get=_read(fared))
                yield from (_entry_or_none_to_call(row, fared) for row in rows)

    def entries(self, ids: Iterable[str], *, fared: bool = False) -> dict[str, TimetableEntry]:
        wanted: dict[type[_FaredRow], list[AttributeMap]] = {self._items: [], self._payments: []}
        for id in dict.fromkeys(ids):
            if is_id(id):
                wanted[self._table_of(id)].append(item_key(id))
        return {
            row.id: _entry_or_none_to_call(row, fared)
            for table, keys in wanted.items()
            for row in batch_get.models(table, keys, attributes=_read(fared))
        }

    def _table_of(self, id: str) -> type[_FaredRow]:
        return self._payments if kind_of(id) == payment.KIND else self._items


def _read(fared: bool) -> list[str]:
    return _READ_FARED if fared else _READ


def _entry_or_none_to_call(row: _FaredRow, fared: bool) -> TimetableEntry:
    """A row that only newer code can read gets no call from this code, and it keeps its minute's audit open: it counts
    as running under a lease that does not end."""
    for entry in readable([row], partial(_entry, fared=fared)):
        return entry
    return TimetableEntry(
        due=Due(id=row.id, version=0, due_at=instants.start_of(home(row.id.partition("~")[0]).minute)),
        tenant="",
        moved_at=instants.EPOCH,
        phase=Phase.RUNS,
        lease_until=_NEVER,
    )


def _entry(row: _FaredRow, *, fared: bool) -> TimetableEntry:
    return TimetableEntry(
        due=Due(
            id=row.points_to or row.id,
            version=int(row.version),
            due_at=instants.from_milliseconds(int(row.due)),
        ),
        tenant=row.tenant,
        moved_at=instants.from_milliseconds(int(row.moved)),
        phase=None if row.status is None else _phase(row),
        lease_until=None if row.lease is None else instants.from_milliseconds(int(row.lease)),
        accounts=(row.payer, row.payee) if row.payer else (),
        fared=_fared(row) if fared and row.status is not None else None,
    )


def _fared(row: _FaredRow) -> Fared:
    return Fared(
        state=row.status,
        planned_at=instants.from_milliseconds(int(row.due if row.planned is None else row.planned)),
        attempts=int(row.attempts or 0),
        begun_at=_completed_at(row)
        if kind_of(row.id) == payment.KIND
        else first_claimed_at(row.history or ()),
        amount=int(row.amount or 0),
    )


def _completed_at(row: _FaredRow) -> datetime | None:
    return instant(row.finished) if row.status == payment.State.COMPLETED else None


def _phase(row: _Row) -> Phase:
    """A state that only newer code knows may be one that waits: it is called, by a message that only newer code can
    take, and no audit is over before it has ended."""
    try:
        if kind_of(row.id) == payment.KIND:
            return payment.phase(payment.State(row.status), retries=row.lease is not None)
        return task.State(row.status).phase
    except ValueError:
        return Phase.WAITS
