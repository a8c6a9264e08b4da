"""Breakers in DynamoDB: one row for each circuit. A closed breaker is as good as none."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, Final

from postdate.domain import instants
from postdate.domain.breaker import Breaker
from postdate.stores import notes
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.flow import Circuit
from postdate.stores.flow_table import (
    BREAKER,
    KEPT,
    WAITING,
    FlowTable,
    expiry,
    instant_of,
    instant_value,
    number_value,
    row_key,
)
from postdate.stores.rows import readable

# BatchGetItem takes 100 keys.
_KEYS_MAX: Final = 100
_EVENTS_KEPT: Final = timedelta(days=800)
# Updates of its own count WAITING. A change of the breaker must not write an old count over it.
_FIELDS: Final = tuple(field.name for field in fields(Breaker) if field.name != WAITING)
_TEXT: Final = "error"
OPEN: Final = "open"
_INSTANTS: Final = frozenset({"since", "down_since", "open_until", "probe_until", "closed_at", "slow_until"})


class DynamoBreakers(FlowTable):
    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        """A breaker that DynamoDB leaves out for now counts as closed, as does one that is missing or unreadable."""
        wanted = list(dict.fromkeys(circuits))
        found = dict.fromkeys(wanted, Breaker())
        for start in range(0, len(wanted), _KEYS_MAX):
            keys = [row_key(tenant, BREAKER + name) for tenant, name in wanted[start : start + _KEYS_MAX]]
            with translated():
                # An old reading lets one call too many or too few begin. A consistent one would cost twice as much.
                answer = self._client.batch_get_item(RequestItems={self._table: {"Keys": keys}})
            for circuit, breaker in readable(answer["Responses"].get(self._table, ()), _circuit):
                found[circuit] = breaker
        return found

    def change_breaker(self, circuit: Circuit, before: Breaker, after: Breaker) -> bool:
        there = {name: value for name in _FIELDS if (value := getattr(after, name)) is not None}
        # A breaker that never opened has told no event.
        if not after.events:
            del there[notes.COUNT]
        gone = [name for name in _FIELDS if name not in there]
        latest = max([instants.EPOCH, *(there[name] for name in _INSTANTS & there.keys())])
        set_to = {f":{name}": _value(value) for name, value in there.items()}
        # The count of its events outlives the events: a number that began anew would be that of another event.
        set_to[":expires_at"] = expiry(latest, _EVENTS_KEPT if after.events else KEPT)
        if after.events != before.events:
            opened = "closed" if after.open_until is None else "opened"
            set_to |= self._noted(f"destination.{opened}", after.events)
        if after.open_until is None:
            # The index of open breakers holds only rows with `attention`.
            gone += [WAITING, "attention"]
        else:
            set_to[":attention"] = {"S": OPEN}
        return self._replace_fields(circuit[0], BREAKER + circuit[1], set_to, gone, before=before.version)

    def count_behind_breaker(self, circuit: Circuit, more: int) -> None:
        self._update(
            circuit[0],
            BREAKER + circuit[1],
            "ADD #waiting :more",
            where="attribute_exists(#open_until)",
            names={"#waiting": WAITING, "#open_until": "open_until"},
            values={":more": number_value(more)},
        )

    def states(self, tenant: str) -> Mapping[str, Breaker]:
        found: dict[str, Breaker] = {}
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "tenant = :tenant AND begins_with(#name, :breaker)",
            "ExpressionAttributeNames": {"#name": "name"},
            "ExpressionAttributeValues": {":tenant": {"S": tenant}, ":breaker": {"S": BREAKER}},
        }
        while True:
            with translated():
                page = self._client.query(**asked)
            for (_, name), breaker in readable(page["Items"], _circuit):
                if breaker.failures or breaker.slow_until:
                    found[name] = breaker
            if "LastEvaluatedKey" not in page:
                return found
            asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def _circuit(row: AttributeMap) -> tuple[Circuit, Breaker]:
    return (row["tenant"]["S"], row["name"]["S"].removeprefix(BREAKER)), _breaker(row)


def _breaker(row: AttributeMap) -> Breaker:
    found: dict[str, Any] = {name: _read(name, row[name]) for name in (*_FIELDS, WAITING) if name in row}
    return Breaker(**found)


def _read(name: str, value: Mapping[str, Any]) -> Any:
    if name in _INSTANTS:
        return instant_of(value)
    return str(value["S"]) if name == _TEXT else int(value["N"])


def _value(value: int | str | datetime) -> dict[str, str]:
    match value:
        case int():
            return number_value(value)
        case str():
            return {"S": value}
        case _:
            return instant_value(value)
