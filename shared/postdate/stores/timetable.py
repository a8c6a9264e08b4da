"""What is due in a slot: tasks and payments alike, with what a sweep has to know of each and nothing else."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from postdate.domain import instants, payment, task
from postdate.domain.due import Due
from postdate.domain.item import Item, Phase, kind_of
from postdate.domain.slots import Slot, home, is_id
from postdate.stores import batch_get
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.rows import Connection, Row, item_key, readable, speak_through

if TYPE_CHECKING:
    from botocore.client import BaseClient


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A pointer knows no phase: its item is elsewhere. `accounts` are those that a payment moves money between."""

    due: Due
    tenant: str
    moved_at: datetime
    phase: Phase | None
    lease_until: datetime | None
    accounts: tuple[str, ...] = ()

    @classmethod
    def of(cls, item: Item, *accounts: str) -> "Entry":
        return cls(
            due=Due.of(item),
            tenant=item.tenant,
            moved_at=item.moved_at,
            phase=item.phase,
            lease_until=item.lease_until,
            accounts=accounts,
        )


class Timetable(Protocol):
    def due_in(self, slot: Slot) -> Iterator[Entry]:
        """Everything that lives in a slot or is pointed to from it, finished or not."""

    def entries(self, ids: Iterable[str]) -> dict[str, Entry]:
        """Items by their ids, wherever they are due."""


class _Row(Row):
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


_READ = list(_Row.get_attributes())
_NEVER: Final = datetime(9999, 1, 1, tzinfo=UTC)


class DynamoTimetable:
    """A slot has rows in two tables: tasks in `items`, payments in `payments`. Both are read, one after the other."""

    def __init__(self, *, items_table: str, payments_table: str, client: "BaseClient | None" = None) -> None:
        self._items = _rows(items_table, client)
        self._payments = _rows(payments_table, client)

    def due_in(self, slot: Slot) -> Iterator[Entry]:
        for table in (self._items, self._payments):
            with translated():
                rows = table.query(slot.key, consistent_read=True, attributes_to_get=_READ)
                yield from map(_entry_or_none_to_call, rows)

    def entries(self, ids: Iterable[str]) -> dict[str, Entry]:
        wanted: dict[type[_Row], list[AttributeMap]] = {self._items: [], self._payments: []}
        for id in dict.fromkeys(ids):
            if is_id(id):
                wanted[self._table_of(id)].append(item_key(id))
        return {
            row.id: _entry_or_none_to_call(row)
            for table, keys in wanted.items()
            for row in batch_get.models(table, keys, attributes=_READ)
        }

    def _table_of(self, id: str) -> type[_Row]:
        return self._payments if kind_of(id) == payment.KIND else self._items


def _rows(table: str, client: "BaseClient | None") -> type[_Row]:
    class Rows(_Row):
        class Meta(Connection):
            table_name = table

    speak_through(Rows, client)
    return Rows


def _entry_or_none_to_call(row: _Row) -> Entry:
    """A row that only newer code can read gets no call from this code, and it keeps its minute's audit open: it counts
    as running under a lease that does not end."""
    for entry in readable([row], _entry):
        return entry
    return Entry(
        due=Due(id=row.id, version=0, due_at=instants.start_of(home(row.id.partition("~")[0]).minute)),
        tenant="",
        moved_at=instants.EPOCH,
        phase=Phase.RUNS,
        lease_until=_NEVER,
    )


def _entry(row: _Row) -> Entry:
    return Entry(
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
    )


def _phase(row: _Row) -> Phase:
    """A state that only newer code knows may be one that waits: it is called, by a message that only newer code can
    take, and no audit is over before it has ended."""
    try:
        if kind_of(row.id) == payment.KIND:
            return payment.phase(payment.State(row.status), retries=row.lease is not None)
        return task.State(row.status).phase
    except ValueError:
        return Phase.WAITS
