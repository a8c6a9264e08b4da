"""A task as a row of the table `items`, and a pointer to a task that moved to another minute.

Every attribute's name is billed with each write, so what has its usual value is left out and what is never searched
is one JSON text. A row that keeps under 1 KB, history included, costs one write unit a change.
"""

import json
from datetime import timedelta
from typing import Any

from pynamodb.attributes import ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection

from postdate.domain import instants
from postdate.domain.definition import is_definition
from postdate.domain.item import kind_of
from postdate.domain.slots import unique_part
from postdate.domain.task import OPERATION_KIND, State, Task
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed
from postdate.stores.places import place_of
from postdate.stores.recurs_values import recurs_of, recurs_values
from postdate.stores.rows import TableConnection, the_one
from postdate.stores.task_lines import line_of, line_text
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
    # The home slot of a task; of a pointer, the slot that it stands in.
    slot = UnicodeAttribute(hash_key=True)
    # The id of a task; for a pointer see `pointers`.
    id = UnicodeAttribute(range_key=True)
    # The planned instant and the id: the order of the next two lists. Missing outside these.
    place = UnicodeAttribute(null=True)
    # The list of one-time tasks and definitions; missing for runs.
    tenant_listing = UnicodeAttribute(null=True)
    # The list by state, see `Listing`; missing on the usual path.
    state_listing = UnicodeAttribute(null=True)
    # The list of the runs of a definition; missing for one-time tasks.
    listing = UnicodeAttribute(null=True)
    tenant = UnicodeAttribute()
    # Missing in pointers.
    status = UnicodeAttribute(null=True)
    version = NumberAttribute()
    # Instants in milliseconds.
    due = NumberAttribute()
    # Missing if it equals `due`.
    planned = NumberAttribute(null=True)
    created = NumberAttribute(null=True)
    moved = NumberAttribute()
    placed = NumberAttribute(null=True)
    # JSON: the destination.
    target = UnicodeAttribute(null=True)
    # JSON: the fields of the task that differ from the usual and that no condition compares.
    options = UnicodeAttribute(null=True)
    # Missing for 0, as is the token.
    attempts = NumberAttribute(null=True)
    token = NumberAttribute(null=True)
    lease = NumberAttribute(null=True)
    holder = UnicodeAttribute(null=True)
    finished = NumberAttribute(null=True)
    error = UnicodeAttribute(null=True)
    # Lines as texts, see `task_lines`.
    history: ListAttribute[Any] = ListAttribute(of=UnicodeAttribute, null=True)
    # The id of the item that a pointer leads to; missing in the rows of items.
    points_to = UnicodeAttribute(null=True)
    # Seconds; missing until the task has ended.
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


def tenant_runs_key(tenant: str, number: int) -> str:
    """The key of the list of all runs of a tenant's recurring tasks."""
    return listing_key(f"{tenant}#runs", number)


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
    lines = {"L": [{"S": line_text(line)} for line in task.history]}
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
        recurs=recurs_of(options["recurs"]) if "recurs" in options else None,
        job_key=options.get("key"),
        placed_at=instant(row.placed),
        attempts=int(row.attempts or 0),
        token=int(row.token or 0),
        lease_until=instant(row.lease),
        holder=row.holder,
        finished_at=instant(row.finished),
        error=row.error,
        history=tuple(line_of(text) for text in row.history or ()),
        **template_fields(options),
    )


def _listings(task: Task, number: int) -> dict[str, str]:
    """An attribute for each list that the task is in, and its place there."""
    if kind_of(task.id) == OPERATION_KIND:
        return {}
    listing, recurs = listing_of(task), task.recurs
    keys = {
        "tenant_listing": _tenant_listing(task, number),
        "state_listing": None if listing is None else state_key(task.tenant, listing, number),
    }
    found = {name: key for name, key in keys.items() if key is not None}
    if found:
        found["place"] = place_of(task.planned_at, task.id)
    if recurs is not None:
        found["listing"] = runs_key(task.tenant, recurs.definition, number)
    return found


def _tenant_listing(task: Task, number: int) -> str | None:
    """The tenant's list of one-time tasks or the one of runs. A delivery to a subscription is in neither."""
    if task.recurs is None:
        return listing_key(task.tenant, number)
    return tenant_runs_key(task.tenant, number) if is_definition(task.recurs.definition) else None


def _options_text(task: Task) -> str | None:
    options = template_values(task) | {
        "name": task.name,
        "tags": task.tags,
        "expires": milliseconds(task.expires_at),
        "recurs": task.recurs and recurs_values(task.recurs),
        "key": task.job_key,
    }
    written = {name: value for name, value in options.items() if value and value != ROW_USUAL.get(name)}
    return compact(written) if written else None
