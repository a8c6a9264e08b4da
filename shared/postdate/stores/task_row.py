"""A task as a row of the table `items`, and a pointer to a task that moved to another minute.

Every attribute's name is billed with each write, so what has its usual value is left out and what is never searched
is one JSON text. A row that keeps under 1 KB, history included, costs one write unit a change.
"""

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection

from postdate.domain import instants
from postdate.domain.item import kind_of
from postdate.domain.slots import unique_part
from postdate.domain.task import OPERATION_KIND, HistoryLine, Recurs, State, Task
from postdate.stores import history
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed
from postdate.stores.places import place_of
from postdate.stores.rows import TableConnection, the_one
from postdate.stores.tasks import Listing, listing_of
from postdate.stores.template_values import (
    ROW_USUAL,
    PayloadRow,
    destination_of,
    destination_values,
    payload_of,
    payload_values,
    template_fields,
    template_values,
)

ROW_BYTES_BILLED_ONCE = 1024
HISTORY_RESERVE_BYTES = 240
_SECOND = timedelta(seconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_BEFORE_WORKER: Final = "\x1f"
_RECURS_VALUES_MIN = 5


class ByListing(GlobalSecondaryIndex["TaskRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_listing"
        projection = KeysOnlyProjection()

    listing = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)


class ByTenant(GlobalSecondaryIndex["TaskRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_tenant"
        projection = KeysOnlyProjection()

    tenant_listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)


class ByState(GlobalSecondaryIndex["TaskRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_state"
        projection = KeysOnlyProjection()

    state_listing = UnicodeAttribute(hash_key=True)
    place = UnicodeAttribute(range_key=True)


class TaskRow(PayloadRow):
    slot = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    place = UnicodeAttribute(null=True)
    tenant_listing = UnicodeAttribute(null=True)
    state_listing = UnicodeAttribute(null=True)
    listing = UnicodeAttribute(null=True)
    tenant = UnicodeAttribute()
    status = UnicodeAttribute(null=True)
    version = NumberAttribute()
    due = NumberAttribute()
    planned = NumberAttribute(null=True)
    created = NumberAttribute(null=True)
    moved = NumberAttribute()
    placed = NumberAttribute(null=True)
    target = UnicodeAttribute(null=True)
    options = UnicodeAttribute(null=True)
    attempts = NumberAttribute(null=True)
    token = NumberAttribute(null=True)
    lease = NumberAttribute(null=True)
    holder = UnicodeAttribute(null=True)
    finished = NumberAttribute(null=True)
    error = UnicodeAttribute(null=True)
    history: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    points_to = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)
    by_tenant = ByTenant()
    by_state = ByState()
    by_listing = ByListing()


def task_rows(table: str) -> type[TaskRow]:
    """The rows of one table; pynamodb ties a model to its table, and the name is known only at run time."""

    class Rows(TaskRow):
        class Meta(TableConnection):
            table_name = table

        by_tenant = ByTenant()
        by_state = ByState()
        by_listing = ByListing()

    return Rows


def listing_key(tenant: str, number: int) -> str:
    return f"{tenant}#{number}"


def runs_key(tenant: str, definition: str, number: int) -> str:
    """Under which a definition's runs are listed."""
    return listing_key(f"{tenant}#{definition}", number)


def state_key(tenant: str, listing: Listing, number: int) -> str:
    return listing_key(f"{tenant}#{listing.value}", number)


def attributes_of(task: Task, *, listing_shards: int, retention: timedelta) -> AttributeMap:
    """A task as it is written."""
    finished = task.finished_at
    texts = {
        "slot": task.home.key,
        "id": task.id,
        **_listings(task, unique_part(task.id)[-1] % listing_shards),
        "tenant": task.tenant,
        "status": task.state.value,
        "target": compact(destination_values(task.destination)),
        **payload_values(task.payload),
        "options": _options_text(task),
        "holder": task.holder,
        "error": task.error,
    }
    numbers = {
        "version": task.version,
        "due": instants.milliseconds(task.due_at),
        "planned": None if task.planned_at == task.due_at else instants.milliseconds(task.planned_at),
        "created": instants.milliseconds(task.created_at),
        "moved": instants.milliseconds(task.moved_at),
        "placed": milliseconds(task.placed_at),
        "attempts": task.attempts or None,
        "token": task.token or None,
        "lease": milliseconds(task.lease_until),
        "finished": milliseconds(finished),
        "expires_at": None if finished is None else int((finished + retention).timestamp()),
    }
    lines = {"L": [{"S": _line_text(line)} for line in task.history]}
    return {**typed(texts, numbers), "history": lines}


def task_in(image: AttributeMap) -> Task:
    """The task of a stream's image. Raises Unreadable for one that this code cannot read."""
    return the_one(TaskRow.from_raw_data(image), task_of)


def task_of(row: TaskRow) -> Task:
    target, options = json.loads(row.target), json.loads(row.options or "{}")
    due_at = instants.from_milliseconds(int(row.due))
    return Task(
        id=row.id,
        tenant=row.tenant,
        state=State(row.status),
        version=int(row.version),
        planned_at=due_at if row.planned is None else instants.from_milliseconds(int(row.planned)),
        due_at=due_at,
        created_at=instants.from_milliseconds(int(row.created)),
        moved_at=instants.from_milliseconds(int(row.moved)),
        destination=destination_of(target),
        payload=payload_of(row),
        name=options.get("name"),
        tags=tuple(options.get("tags", ())),
        expires_at=instant(options.get("expires")),
        recurs=_recurs_of(options["recurs"]) if "recurs" in options else None,
        job_key=options.get("key"),
        placed_at=instant(row.placed),
        attempts=int(row.attempts or 0),
        token=int(row.token or 0),
        lease_until=instant(row.lease),
        holder=row.holder,
        finished_at=instant(row.finished),
        error=row.error,
        history=tuple(_line_of(text) for text in row.history or ()),
        **template_fields(options),
    )


def _listings(task: Task, number: int) -> dict[str, str]:
    """An attribute for each list that the task is in, and its place there."""
    if kind_of(task.id) == OPERATION_KIND:
        return {}
    listing, recurs = listing_of(task), task.recurs
    keys = {
        "tenant_listing": listing_key(task.tenant, number) if recurs is None else None,
        "state_listing": None if listing is None else state_key(task.tenant, listing, number),
    }
    found = {name: key for name, key in keys.items() if key is not None}
    if found:
        found["place"] = place_of(task.planned_at, task.id)
    if recurs is not None:
        found["listing"] = runs_key(task.tenant, recurs.definition, number)
    return found


def size(attributes: AttributeMap) -> int:
    """The bytes that DynamoDB bills for these attributes, by the rules of its documentation."""
    return sum(len(name.encode()) + _value_size(value) for name, value in attributes.items())


def _value_size(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return (len(content.strip("-").replace(".", "").strip("0")) + 1) // 2 + 1
        case "L":
            return 3 + sum(1 + _value_size(item) for item in content)
        case _:
            return len(json.dumps(content))


def _options_text(task: Task) -> str | None:
    options = template_values(task) | {
        "name": task.name,
        "tags": task.tags,
        "expires": milliseconds(task.expires_at),
        "recurs": task.recurs and _recurs_text(task.recurs),
        "key": task.job_key,
    }
    written = {name: value for name, value in options.items() if value and value != ROW_USUAL.get(name)}
    return compact(written) if written else None


def _recurs_text(recurs: Recurs) -> list[Any]:
    """Older code reads the first six values. The wall time is how far the clocks were ahead, in seconds."""
    ahead = None if recurs.wall is None else (recurs.wall - recurs.at.replace(tzinfo=None)) // _SECOND
    values = [
        recurs.definition,
        recurs.plan,
        instants.milliseconds(recurs.at),
        recurs.number,
        next(iter(recurs.before), None),
        recurs.passed_over,
        ahead,
        *recurs.before[1:],
    ]
    while len(values) > _RECURS_VALUES_MIN and values[-1] is None:
        values.pop()
    return values


def _recurs_of(values: list[Any]) -> Recurs:
    """Rows of older code end after the fifth or the sixth value."""
    definition, plan, at, number, *links = values
    before, passed_over, ahead, *others = (*links, None, None, None)[: max(3, len(links))]
    planned = instants.from_milliseconds(at)
    return Recurs(
        definition=definition,
        plan=plan,
        at=planned,
        number=number,
        before=tuple(each for each in (before, *others) if each is not None),
        passed_over=passed_over,
        wall=None if ahead is None else planned.replace(tzinfo=None) + ahead * _SECOND,
    )


def _line_text(line: HistoryLine) -> str:
    """The text of a history line. For a claim, the worker and the milliseconds of its lease stand behind the reason;
    older code reads both as part of the reason. Only lines that say RUNNING are read that way: their reasons are ours,
    while other reasons may repeat any text of a receiver."""
    if line.worker is None or line.lease_until is None:
        return history.text_of(line)
    lease = (line.lease_until - line.at) // _MILLISECOND
    return history.text_of(line, why=f"{line.why}{_BEFORE_WORKER}{line.worker} {lease}")


def first_claimed_at(history: Iterable[str]) -> datetime | None:
    """The instant at which a task's first attempt began, from the lines of its row; None before it."""
    return next((line.at for line in map(_line_of, history) if line.to is State.RUNNING), None)


def _line_of(text: str) -> HistoryLine:
    line = history.parts_of(text)
    why, _, claim = line.why.partition(_BEFORE_WORKER) if line.to == State.RUNNING else (line.why, "", "")
    worker, _, lease = claim.rpartition(" ")
    return HistoryLine(
        version=line.version,
        at=line.at,
        to=State(line.to),
        attempt=line.attempt,
        why=why,
        worker=worker or None,
        lease_until=line.at + int(lease) * _MILLISECOND if lease else None,
        by=line.by,
    )
