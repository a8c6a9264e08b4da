"""Switches: one row for each that was ever turned, with its history, read by name and without delay."""

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from postdate.domain import instants
from postdate.domain.switch import Switch, SwitchChange
from postdate.stores import batch_get
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed
from postdate.stores.faults import translated
from postdate.stores.rows import readable

if TYPE_CHECKING:
    from botocore.client import BaseClient

_ON: Final = "on"
_OFF: Final = "off"
_SHORT: Final = ("name", "status", "off_at", "on_at", "version")


class Switches(Protocol):
    def get(self, name: str) -> Switch:
        """The switch with its history. One that was never turned is on and has version 0."""

    def states(self, names: Iterable[str]) -> Mapping[str, Switch]:
        """All of these switches, without their histories, read consistently."""

    def all(self) -> list[Switch]:
        """All switches that were ever turned, by name, without their histories: for requests of operators."""

    def change(self, before: Switch, after: Switch) -> bool:
        """Writes `after`. False if the stored switch is no longer of the version of `before`."""


class DynamoSwitches:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def get(self, name: str) -> Switch:
        row = self._row(name)
        found = list(readable([row], _switch)) if row else []
        return found[0] if found else Switch(name=name)

    def states(self, names: Iterable[str]) -> Mapping[str, Switch]:
        wanted = list(dict.fromkeys(names))
        keys: list[AttributeMap] = [{"name": {"S": name}} for name in wanted]
        found = {
            row["name"]["S"]: row
            for row in batch_get.rows(self._client, self._table, keys, attributes=_SHORT)
        }
        return {name: _state(found[name]) if name in found else Switch(name=name) for name in wanted}

    def all(self) -> list[Switch]:
        names = {f"#{index}": name for index, name in enumerate(_SHORT)}
        asked: dict[str, Any] = {
            "TableName": self._table,
            "ProjectionExpression": ",".join(names),
            "ExpressionAttributeNames": names,
            "ConsistentRead": True,
        }
        found: list[Switch] = []
        while True:
            with translated():
                answer = self._client.scan(**asked)
            found += map(_state, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                return sorted(found, key=lambda switch: switch.name)
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def change(self, before: Switch, after: Switch) -> bool:
        """A row that is stored already, as after an answer that got lost, counts as written."""
        asked: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(#name)"}
        names = {"#name": "name"}
        if before.version:
            names = {"#version": "version"}
            asked = {
                "ConditionExpression": "#version = :before",
                "ExpressionAttributeValues": {":before": {"N": str(before.version)}},
            }
        row = _row_of(after)
        try:
            with translated():
                self._client.put_item(
                    TableName=self._table, Item=row, ExpressionAttributeNames=names, **asked
                )
        except self._client.exceptions.ConditionalCheckFailedException:
            return self._row(after.name) == row
        return True

    def _row(self, name: str) -> AttributeMap | None:
        with translated():
            answer = self._client.get_item(
                TableName=self._table, Key={"name": {"S": name}}, ConsistentRead=True
            )
        row: AttributeMap | None = answer.get("Item")
        return row


def _row_of(switch: Switch) -> AttributeMap:
    """`by` and `why` of the last turn stand beside the history too, for the recorder of events."""
    last = switch.history[-1]
    lines = [[instants.milliseconds(each.at), each.on, each.by, each.why] for each in switch.history]
    texts = {
        "name": switch.name,
        "status": _ON if switch.on else _OFF,
        "by": last.by,
        "why": last.why,
        "history": compact(lines),
    }
    numbers = {
        "version": switch.version,
        "turned_at": instants.milliseconds(last.at),
        "off_at": milliseconds(switch.off_at),
        "on_at": milliseconds(switch.on_at),
    }
    return typed(texts, numbers)


def _state(row: AttributeMap) -> Switch:
    """A position that this code does not know is off: newer code stopped something."""
    return Switch(
        name=row["name"]["S"],
        on=row["status"]["S"] == _ON,
        off_at=instant(_number(row, "off_at")),
        on_at=instant(_number(row, "on_at")),
        version=int(row["version"]["N"]),
    )


def _switch(row: AttributeMap) -> Switch:
    state = _state(row)
    return Switch(
        name=state.name,
        on=state.on,
        off_at=state.off_at,
        on_at=state.on_at,
        version=state.version,
        history=tuple(
            SwitchChange(at=instants.from_milliseconds(at), on=on, by=by, why=why)
            for at, on, by, why in json.loads(row["history"]["S"])
        ),
    )


def _number(row: AttributeMap, name: str) -> float | None:
    return float(row[name]["N"]) if name in row else None
