"""Tasks in DynamoDB.

Changes go as statements, which claim a whole packet in one round trip; reads go through pynamodb.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pynamodb.exceptions import DoesNotExist

from postdate.domain import instants
from postdate.domain.definition import is_definition
from postdate.domain.item import kind_of
from postdate.domain.slots import ShardPlan, home, is_id, unique_part
from postdate.domain.task import KINDS, State, Task
from postdate.domain.transitions import Transition
from postdate.runtime.author import nobody
from postdate.stores import batch_get, row_size, task_row
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.places import between
from postdate.stores.pointers import pointer_attributes
from postdate.stores.rows import FoundRows, found_rows, item_key, speak_through, the_one
from postdate.stores.statements import Statement, Statements
from postdate.stores.tasks import TasksWanted, Written

if TYPE_CHECKING:
    from botocore.client import BaseClient


_READERS: Final = 8
# A pointer that is stored already does its work.
_THERE: Final = frozenset({Written.DONE, Written.CONFLICT})
# The attributes that the indexes of the lists need besides `state_listing`.
_PLACED_BY: Final = frozenset({"place", "tenant_listing"})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Change:
    """The writes of one change of a task."""

    # The write of the task's row.
    statement: Statement
    # The pointer of a task that is due in another minute, in one transaction with the row; None otherwise.
    pointer: Statement | None
    # The pointer that leads an audit to come to the task, written before the row; None if no audit lacks it.
    for_audit: Statement | None


class DynamoTasks:
    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient",
        shards: ShardPlan,
        listing_shards: int,
        retention: timedelta,
        author: Callable[[], str] = nobody,
    ) -> None:
        """`author` is noted in each line that names none."""
        self._author = author
        self._table = table
        self._rows = task_row.task_rows(table)
        speak_through(self._rows, client)
        self._statements = Statements(table=table, client=client)
        self._shards = shards
        self._listing_shards = listing_shards
        self._retention = retention

    def get(self, id: str) -> Task | None:
        slot = home(id)
        if not _is_task(id):
            return None
        with translated():
            try:
                row = self._rows.get(slot.key, id, consistent_read=True)
            except DoesNotExist:
                return None
        return the_one(row, task_row.task_of)

    def get_many(self, ids: Iterable[str]) -> FoundRows[Task]:
        keys = (item_key(id) for id in dict.fromkeys(ids) if is_id(id) and _is_task(id))
        return found_rows(batch_get.models(self._rows, keys), task_row.task_of)

    def fits(self, task: Task) -> bool:
        reserved = (
            row_size.size(self._attributes(task.signed(self._author()))) + row_size.HISTORY_RESERVE_BYTES
        )
        return reserved <= row_size.ROW_BYTES_BILLED_ONCE

    def add(self, tasks: Sequence[Task]) -> list[Written]:
        return self._written(
            [
                _Change(
                    statement=self._statements.insert(self._attributes(task.signed(self._author()))),
                    pointer=None if task.home.holds(task.due_at) else self._pointer(task),
                    for_audit=self._for_audit(task, task.moved_at if task.is_written_late else None),
                )
                for task in tasks
            ]
        )

    def commit(self, transitions: Sequence[Transition]) -> list[Written]:
        return self._written(
            [
                _Change(
                    statement=self._update(transition),
                    pointer=self._pointer(transition.after) if transition.points else None,
                    for_audit=self._for_audit(transition.after, transition.audited_from),
                )
                for transition in transitions
            ]
        )

    def extend(self, tasks: Sequence[Task], until: datetime) -> list[Written]:
        lease = {"N": str(instants.milliseconds(until))}
        return self._statements.execute([self._extension(task, lease) for task in tasks])

    def listed(
        self, wanted: Sequence[TasksWanted], *, after: str, limit: int, newest_first: bool = False
    ) -> list[str]:
        """Queries each index key of each list in parallel, and merges the results."""
        asked = [
            (each, number, ends)
            for each in wanted
            if (ends := between(each.since, each.until, after=after, newest_first=newest_first))
            for number in range(self._listing_shards)
        ]
        if not asked:
            return []

        def read(part: tuple[TasksWanted, int, tuple[str, str]]) -> list[str]:
            index, key = self._list(part[0], part[1])
            within = self._rows.place.between(*part[2])
            with translated():
                found = index.query(key, within, scan_index_forward=not newest_first, limit=limit)
                return [row.place for row in found]

        with ThreadPoolExecutor(min(_READERS, len(asked))) as readers:
            places = merge(*readers.map(read, asked), reverse=newest_first)
            return list(islice(dict.fromkeys(places), limit))

    def _list(self, wanted: TasksWanted, number: int) -> tuple[Any, str]:
        if wanted.listing is None:
            key = task_row.tenant_runs_key if wanted.runs else task_row.listing_key
            return self._rows.by_tenant, key(wanted.tenant, number)
        return self._rows.by_state, task_row.state_key(wanted.tenant, wanted.listing, number)

    def runs_listed(self, tenant: str, definition: str, *, after: str, limit: int) -> list[str]:
        behind = self._rows.id > after if after else None
        shards = self._runs(tenant, definition, behind, limit, forward=True)
        return list(islice(merge(*shards), limit))

    def runs_back(self, tenant: str, definition: str, *, before: str, limit: int) -> list[str]:
        ahead = self._rows.id < before if before else None
        shards = self._runs(tenant, definition, ahead, limit, forward=False)
        return list(islice(merge(*shards, reverse=True), limit))

    def _runs(
        self, tenant: str, definition: str, where: Any, limit: int, *, forward: bool
    ) -> list[list[str]]:
        with translated():
            return [
                [
                    row.id
                    for row in self._rows.by_listing.query(
                        task_row.runs_key(tenant, definition, number),
                        where,
                        limit=limit,
                        scan_index_forward=forward,
                    )
                ]
                for number in range(self._listing_shards)
            ]

    def _attributes(self, task: Task) -> AttributeMap:
        return task_row.attributes_of(task, listing_shards=self._listing_shards, retention=self._retention)

    def _update(self, transition: Transition) -> Statement:
        before = self._attributes(transition.before)
        after = self._attributes(transition.after.signed(self._author()))
        if "state_listing" in after and "state_listing" not in before:
            # A run of an earlier release has no place in its row. In a row of this release the values stay the same.
            before = {name: value for name, value in before.items() if name not in _PLACED_BY}
        return self._statements.update(
            before,
            after,
            unchanged=["version", "lease"] if transition.over_lease else ["version"],
        )

    def _extension(self, task: Task, lease: dict[str, str]) -> Statement:
        # Token and holder name this claim. A later claim, and the lease of a receiver, have another pair.
        text = (
            f'UPDATE "{self._table}" SET "lease"=? '  # noqa: S608
            'WHERE "slot"=? AND "id"=? AND "status"=? AND "token"=? AND "holder"=?'
        )
        key = item_key(task.id)
        parameters = [
            lease,
            *key.values(),
            {"S": State.RUNNING.value},
            {"N": str(task.token)},
            {"S": task.holder or ""},
        ]
        return Statement(request={"Statement": text, "Parameters": parameters}, key=key)

    def _pointer(self, task: Task) -> Statement:
        slot = self._shards.slot(task.due_at, unique_part(task.id))
        return self._statements.insert(pointer_attributes(task, slot))

    def _for_audit(self, task: Task, at: datetime | None) -> Statement | None:
        if at is None:
            return None
        slot = self._shards.slot(at, unique_part(task.id))
        return self._statements.insert(pointer_attributes(task, slot, for_audit=True))

    def _written(self, changes: Sequence[_Change]) -> list[Written]:
        """Pointers for audits come first: one whose change does not follow does no harm, for an audit looks at the
        item behind it. A change whose item is due elsewhere goes with its pointer in a transaction, the others go
        together."""
        told = iter(self._statements.execute([each.for_audit for each in changes if each.for_audit]))
        first = [next(told) if each.for_audit else Written.DONE for each in changes]
        ready = [each for each, done in zip(changes, first, strict=True) if done in _THERE]
        alone = iter(self._statements.execute([each.statement for each in ready if each.pointer is None]))
        written = iter(
            [
                next(alone)
                if each.pointer is None
                else self._statements.execute_together(each.statement, each.pointer)
                for each in ready
            ]
        )
        return [next(written) if done in _THERE else done for done in first]


def _is_task(id: str) -> bool:
    """A definition lives in the same table, under an id of the same form."""
    return kind_of(id) in KINDS and not is_definition(id)
