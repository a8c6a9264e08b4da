"""A definition as a row of the table `items`. It is written when a person changes it, so it is kept readable rather
than small."""

import json
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from postdate.domain import instants
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Definition, Overlap, State
from postdate.domain.schedule_values import schedule_of, values_of
from postdate.domain.slots import unique_part
from postdate.domain.task import LIFETIME, Payload, Template
from postdate.stores.attributes import AttributeMap, compact, typed
from postdate.stores.places import place_of
from postdate.stores.rows import the_one
from postdate.stores.task_row import listing_key, state_key
from postdate.stores.tasks import Listing
from postdate.stores.template_values import (
    PayloadRow,
    destination_of,
    destination_values,
    payload_of,
    payload_values,
    template_fields,
    template_values,
)

_MILLISECOND: Final = timedelta(milliseconds=1)


class DefinitionRow(PayloadRow):
    # The home slot, in the minute of the epoch.
    slot = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    # The place in the lists below: before all tasks.
    place = UnicodeAttribute()
    tenant_listing = UnicodeAttribute()
    # The list of cancelled tasks; missing in other states.
    state_listing = UnicodeAttribute(null=True)
    tenant = UnicodeAttribute()
    status = UnicodeAttribute()
    version = NumberAttribute()
    # The number of the current chain of runs.
    plan = NumberAttribute()
    # JSON: the plan, the call of each run, and the rest of the request.
    schedule = UnicodeAttribute()
    template = UnicodeAttribute()
    options = UnicodeAttribute()
    # Missing for 0.
    runs_before = NumberAttribute(null=True)
    # Ids with spaces between them; missing if all earlier runs are over.
    before = UnicodeAttribute(null=True)
    # Instants in milliseconds.
    created = NumberAttribute()
    changed = NumberAttribute()
    # The reason of a pause; missing without one.
    reason = UnicodeAttribute(null=True)
    # The author behind the number of its version, see `author_in`.
    by = UnicodeAttribute(null=True)
    # Seconds; missing while runs may follow.
    expires_at = NumberAttribute(null=True)


def attributes_of(
    definition: Definition, *, listing_shards: int, retention: timedelta, by: str = ""
) -> AttributeMap:
    """A definition as it is written; it is listed among its tenant's tasks. `by` is the author of this version, which
    the attribute names: older code leaves the attribute as it is."""
    number = unique_part(definition.id)[-1] % listing_shards
    ends = _ends(definition, retention)
    texts = {
        "slot": definition.home.key,
        "id": definition.id,
        # A definition has no instant. Its place puts it before all tasks of its list.
        "place": place_of(instants.EPOCH, definition.id),
        "tenant_listing": listing_key(definition.tenant, number),
        "state_listing": state_key(definition.tenant, Listing.CANCELLED, number)
        if definition.state is State.CANCELLED
        else None,
        "tenant": definition.tenant,
        "status": definition.state.value,
        "schedule": compact(values_of(definition.schedule)),
        "template": _template_text(definition.template),
        **payload_values(definition.template.payload),
        "options": _options_text(definition),
        "reason": definition.reason,
        "before": " ".join(definition.before) or None,
        "by": f"{definition.version} {by}" if by else None,
    }
    numbers = {
        "version": definition.version,
        "plan": definition.plan,
        "runs_before": definition.runs_before or None,
        "created": instants.milliseconds(definition.created_at),
        "changed": instants.milliseconds(definition.changed_at),
        "expires_at": None if ends is None else int(ends.timestamp()),
    }
    return typed(texts, numbers)


def _ends(definition: Definition, retention: timedelta) -> datetime | None:
    """The instant after which DynamoDB may delete the row. No run begins without its definition, so a finished
    definition outlives its last run. A cancelled definition need not: its runs do not begin."""
    match definition.state:
        case State.FINISHED:
            return definition.changed_at + retention + LIFETIME
        case State.CANCELLED:
            return definition.changed_at + retention
        case State.ACTIVE | State.PAUSED:
            return None
        case _:
            assert_never(definition.state)


def definition_in(image: AttributeMap) -> Definition:
    """The definition of a stream's image. Raises Unreadable for one that this code cannot read."""
    return the_one(DefinitionRow.from_raw_data(image), definition_of)


def author_in(image: AttributeMap) -> str:
    """The author of the image's version; empty if it names none."""
    version, _, by = image.get("by", {}).get("S", "").partition(" ")
    return by if version == image["version"]["N"] else ""


def definition_of(row: DefinitionRow) -> Definition:
    options = json.loads(row.options)
    return Definition(
        id=row.id,
        tenant=row.tenant,
        state=State(row.status),
        version=int(row.version),
        plan=int(row.plan),
        schedule=schedule_of(json.loads(row.schedule), row.id),
        template=_template_of(
            json.loads(row.template),
            payload_of(row),
        ),
        created_at=instants.from_milliseconds(int(row.created)),
        changed_at=instants.from_milliseconds(int(row.changed)),
        overlap=Overlap(options["overlap"]),
        catch_up=CatchUp(options["catch_up"]),
        catch_up_window=options["window"] * _MILLISECOND,
        runs_before=int(row.runs_before or 0),
        before=tuple((row.before or "").split()),
        name=options.get("name"),
        tags=tuple(options.get("tags", ())),
        reason=row.reason,
        job_key=options.get("key"),
    )


def _template_text(template: Template) -> str:
    expires = template.expires_after
    return _text(
        {
            "target": destination_values(template.destination),
            "expires_after": None if expires is None else expires // _MILLISECOND,
            **template_values(template),
        }
    )


def _template_of(values: dict[str, Any], payload: Payload) -> Template:
    expires = values.get("expires_after")
    return Template(
        destination=destination_of(values["target"]),
        payload=payload,
        expires_after=None if expires is None else expires * _MILLISECOND,
        **template_fields(values),
    )


def _options_text(definition: Definition) -> str:
    return _text(
        {
            "overlap": definition.overlap.value,
            "catch_up": definition.catch_up.value,
            "window": definition.catch_up_window // _MILLISECOND,
            "name": definition.name,
            "tags": definition.tags or None,
            "key": definition.job_key,
        }
    )


def _text(values: dict[str, Any]) -> str:
    return compact({name: value for name, value in values.items() if value is not None})
