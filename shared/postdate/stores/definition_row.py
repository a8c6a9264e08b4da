"""A definition as a row of the table `items`. It is written when a person changes it, so it is kept readable rather
than small."""

import json
from datetime import datetime, timedelta
from typing import Any, Final, assert_never

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from postdate.domain import instants
from postdate.domain.catch_up import CatchUp
from postdate.domain.definition import Definition, Overlap, State, Template
from postdate.domain.schedule_values import schedule_of, values_of
from postdate.domain.slots import unique_part
from postdate.domain.task import LIFETIME, Ack, Payload
from postdate.stores.attributes import AttributeMap, compact, typed
from postdate.stores.rows import Connection, Row
from postdate.stores.task_row import (
    destination_of,
    destination_values,
    flow_of,
    flow_values,
    listing_key,
    retry_of,
    retry_values,
)

_MILLISECOND: Final = timedelta(milliseconds=1)


class DefinitionRow(Row):
    slot = UnicodeAttribute(hash_key=True)
    id = UnicodeAttribute(range_key=True)
    listing = UnicodeAttribute()
    tenant = UnicodeAttribute()
    status = UnicodeAttribute()
    version = NumberAttribute()
    plan = NumberAttribute()
    schedule = UnicodeAttribute()
    template = UnicodeAttribute()
    payload = UnicodeAttribute(null=True)
    payload_key = UnicodeAttribute(null=True)
    payload_ref = UnicodeAttribute(null=True)
    options = UnicodeAttribute()
    runs_before = NumberAttribute(null=True)
    before = UnicodeAttribute(null=True)
    created = NumberAttribute()
    changed = NumberAttribute()
    reason = UnicodeAttribute(null=True)
    expires_at = NumberAttribute(null=True)


def definition_rows(table: str) -> type[DefinitionRow]:
    class Rows(DefinitionRow):
        class Meta(Connection):
            table_name = table

    return Rows


def attributes_of(definition: Definition, *, listing_shards: int, retention: timedelta) -> AttributeMap:
    """A definition as it is written; it is listed among its tenant's tasks."""
    number = unique_part(definition.id)[-1] % listing_shards
    ends = _ends(definition, retention)
    texts = {
        "slot": definition.home.key,
        "id": definition.id,
        "listing": listing_key(definition.tenant, number),
        "tenant": definition.tenant,
        "status": definition.state.value,
        "schedule": compact(values_of(definition.schedule)),
        "template": _template_text(definition.template),
        "payload": definition.template.payload.text,
        "payload_key": definition.template.payload.key,
        "payload_ref": definition.template.payload.ref,
        "options": _options_text(definition),
        "reason": definition.reason,
        "before": " ".join(definition.before) or None,
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
    """Of a definition that is gone no run begins any more, so a finished one outlives every run that was made until its
    retention ended. A cancelled one needs not: its runs do not begin either."""
    match definition.state:
        case State.FINISHED:
            return definition.changed_at + retention + LIFETIME
        case State.CANCELLED:
            return definition.changed_at + retention
        case State.ACTIVE | State.PAUSED:
            return None
        case _:
            assert_never(definition.state)


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
            Payload(text=row.payload, key=row.payload_key, ref=row.payload_ref),
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
            "retry": retry_values(template.retry) or None,
            "timeout": template.timeout_seconds,
            "ack": template.ack.value,
            "expires_after": None if expires is None else expires // _MILLISECOND,
            "flow": flow_values(template.flow),
            "depth": template.depth or None,
        }
    )


def _template_of(values: dict[str, Any], payload: Payload) -> Template:
    expires = values.get("expires_after")
    return Template(
        destination=destination_of(values["target"]),
        payload=payload,
        retry=retry_of(values.get("retry")),
        timeout_seconds=values["timeout"],
        ack=Ack(values["ack"]),
        expires_after=None if expires is None else expires * _MILLISECOND,
        flow=flow_of(values.get("flow")),
        depth=values.get("depth", 0),
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
