"""A task as a row of the table `items`, and a pointer to a task that moved to another minute.

Every attribute's name is billed with each write, so what has its usual value is left out and what is never searched
is one JSON text. A row that keeps under 1 KB, history included, costs one write unit a change.
"""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection

from postdate.domain import instants
from postdate.domain.flow import FlowControl
from postdate.domain.item import kind_of
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import Slot, unique_part
from postdate.domain.task import OPERATION_KIND, Ack, Destination, HistoryLine, Payload, Recurs, State, Task
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed
from postdate.stores.rows import Connection, Row

ROW_BYTES_BILLED_ONCE = 1024
HISTORY_RESERVE_BYTES = 240
_POINTER_KEPT = timedelta(days=40)
_SECOND = timedelta(seconds=1)
_MILLISECOND = timedelta(milliseconds=1)
_BEFORE_WORKER: Final = "\x1f"
_RECURS_VALUES_MIN = 5
# What a row without these options means, for ever. The defaults of the code may change; stored tasks must not.
ROW_RETRY: Final[dict[str, Any]] = {
    "max_attempts": 5,
    "initial_seconds": 5.0,
    "multiplier": 2.0,
    "max_seconds": 900.0,
    "jitter": True,
}
_ROW_RETRY: Final = RetryPolicy(**ROW_RETRY)
_ROW_TIMEOUT_SECONDS: Final = 30


class ByListing(GlobalSecondaryIndex["TaskRow"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_listing"
        projection = KeysOnlyProjection()

    listing = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)


class TaskRow(Row):
    slot = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
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
    payload = UnicodeAttribute(null=True)
    payload_key = UnicodeAttribute(null=True)
    payload_ref = UnicodeAttribute(null=True)
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
    by_listing = ByListing()


def task_rows(table: str) -> type[TaskRow]:
    """The rows of one table; pynamodb ties a model to its table, and the name is known only at run time."""

    class Rows(TaskRow):
        class Meta(Connection):
            table_name = table

        by_listing = ByListing()

    return Rows


def listing_key(tenant: str, number: int) -> str:
    return f"{tenant}#{number}"


def runs_of(tenant: str, definition: str) -> str:
    """Whose listing a definition's runs are in."""
    return f"{tenant}#{definition}"


def attributes_of(task: Task, *, listing_shards: int, retention: timedelta) -> AttributeMap:
    """A task as it is written."""
    number = unique_part(task.id)[-1] % listing_shards
    finished = task.finished_at
    texts = {
        "slot": task.home.key,
        "id": task.id,
        "listing": None if kind_of(task.id) == OPERATION_KIND else listing_key(_listed_under(task), number),
        "tenant": task.tenant,
        "status": task.state.value,
        "target": compact(destination_values(task.destination)),
        "payload": task.payload.text,
        "payload_key": task.payload.key,
        "payload_ref": task.payload.ref,
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
    history = {"L": [{"S": _line_text(line)} for line in task.history]}
    return {**typed(texts, numbers), "history": history}


def pointer_attributes(task: Task, slot: Slot, *, for_audit: bool = False) -> AttributeMap:
    """A row in the slot of the new instant. The version in its key keeps two moves into one slot apart.

    A pointer `for_audit` lies in a slot in which the task is not due: only the slot's audit looks behind it."""
    id = f"{task.id}~{task.version}{'~audit' if for_audit else ''}"
    texts = {"slot": slot.key, "id": id, "tenant": task.tenant, "points_to": task.id}
    numbers = {
        "version": task.version,
        "due": instants.milliseconds(task.due_at),
        "moved": instants.milliseconds(task.moved_at),
        "expires_at": int((instants.end_of(slot.minute) + _POINTER_KEPT).timestamp()),
    }
    return typed(texts, numbers)


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
        payload=Payload(text=row.payload, key=row.payload_key, ref=row.payload_ref),
        retry=retry_of(options.get("retry")),
        timeout_seconds=options.get("timeout", _ROW_TIMEOUT_SECONDS),
        name=options.get("name"),
        tags=tuple(options.get("tags", ())),
        ack=Ack(options.get("ack", Ack.RESPONSE)),
        expires_at=instant(options.get("expires")),
        recurs=_recurs_of(options["recurs"]) if "recurs" in options else None,
        flow=flow_of(options.get("flow")),
        job_key=options.get("key"),
        depth=options.get("depth", 0),
        placed_at=instant(row.placed),
        attempts=int(row.attempts or 0),
        token=int(row.token or 0),
        lease_until=instant(row.lease),
        holder=row.holder,
        finished_at=instant(row.finished),
        error=row.error,
        history=tuple(_line_of(text) for text in row.history or ()),
    )


def _listed_under(task: Task) -> str:
    return task.tenant if task.recurs is None else runs_of(task.tenant, task.recurs.definition)


def size(attributes: AttributeMap) -> int:
    """What DynamoDB bills for these attributes, as its documentation counts it."""
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


def destination_values(destination: Destination) -> dict[str, Any]:
    target: dict[str, Any] = {"type": destination.type, "address": destination.address}
    if destination.method != "POST":
        target["method"] = destination.method
    if destination.headers:
        target["headers"] = destination.headers
    if destination.detail_type:
        target["detail_type"] = destination.detail_type
    return target


def destination_of(target: dict[str, Any]) -> Destination:
    return Destination(
        type=target["type"],
        address=target["address"],
        method=target.get("method", "POST"),
        headers=tuple((name, value) for name, value in target.get("headers", ())),
        detail_type=target.get("detail_type", ""),
    )


def retry_values(retry: RetryPolicy) -> dict[str, Any]:
    """The fields that differ from the row's own default."""
    return {
        field: value
        for field in RetryPolicy.__dataclass_fields__
        if (value := getattr(retry, field)) != getattr(_ROW_RETRY, field)
    }


def retry_of(values: dict[str, Any] | None) -> RetryPolicy:
    return replace(_ROW_RETRY, **values) if values else _ROW_RETRY


def flow_values(flow: FlowControl | None) -> list[Any] | None:
    return None if flow is None else [flow.key, flow.rate, flow.period_seconds, flow.parallelism]


def flow_of(values: list[Any] | None) -> FlowControl | None:
    if values is None:
        return None
    key, rate, period_seconds, parallelism = values
    return FlowControl(key=key, rate=rate, period_seconds=period_seconds, parallelism=parallelism)


def _options_text(task: Task) -> str | None:
    options = {
        "retry": retry_values(task.retry),
        "timeout": None if task.timeout_seconds == _ROW_TIMEOUT_SECONDS else task.timeout_seconds,
        "name": task.name,
        "tags": task.tags,
        "ack": None if task.ack is Ack.RESPONSE else task.ack.value,
        "expires": milliseconds(task.expires_at),
        "recurs": task.recurs and _recurs_text(task.recurs),
        "flow": flow_values(task.flow),
        "key": task.job_key,
        "depth": task.depth or None,
    }
    return (
        compact({name: value for name, value in options.items() if value}) if any(options.values()) else None
    )


def _recurs_text(recurs: Recurs) -> list[Any]:
    """Older code reads the first six values. The wall time is how far the clocks were ahead, in seconds."""
    ahead = None if recurs.wall is None else (recurs.wall - recurs.at.replace(tzinfo=None)) // _SECOND
    values = [
        recurs.definition,
        recurs.plan,
        instants.milliseconds(recurs.at),
        recurs.number,
        next(iter(recurs.before), None),
        recurs.passed,
        ahead,
        *recurs.before[1:],
    ]
    while len(values) > _RECURS_VALUES_MIN and values[-1] is None:
        values.pop()
    return values


def _recurs_of(values: list[Any]) -> Recurs:
    """Rows of older code end after the fifth or the sixth value."""
    definition, plan, at, number, *links = values
    before, passed, ahead, *others = (*links, None, None, None)[: max(3, len(links))]
    planned = instants.from_milliseconds(at)
    return Recurs(
        definition=definition,
        plan=plan,
        at=planned,
        number=number,
        before=tuple(each for each in (before, *others) if each is not None),
        passed=passed,
        wall=None if ahead is None else planned.replace(tzinfo=None) + ahead * _SECOND,
    )


def _line_text(line: HistoryLine) -> str:
    """A claim's line ends with its worker and the milliseconds of its lease. Older code reads that as part of why. Only
    lines that say RUNNING are read so: their reasons are ours, while others may repeat any text of a receiver."""
    text = f"{line.version} {instants.milliseconds(line.at)} {line.to.value} {line.attempt} {line.why}"
    if line.worker is None or line.lease_until is None:
        return text
    return f"{text}{_BEFORE_WORKER}{line.worker} {(line.lease_until - line.at) // _MILLISECOND}"


def _line_of(text: str) -> HistoryLine:
    version, begun, to, attempt, told = text.split(" ", 4)
    at = instants.from_milliseconds(int(begun))
    why, _, claim = told.partition(_BEFORE_WORKER) if to == State.RUNNING else (told, "", "")
    worker, _, lease = claim.rpartition(" ")
    return HistoryLine(
        version=int(version),
        at=at,
        to=State(to),
        attempt=int(attempt),
        why=why,
        worker=worker or None,
        lease_until=at + int(lease) * _MILLISECOND if lease else None,
    )
