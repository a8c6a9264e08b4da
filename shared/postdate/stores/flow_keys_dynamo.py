"""Settings of flow keys in DynamoDB. A setting of a tenant stays; no row means no setting."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from postdate.domain.flow_key import FlowKey, Used
from postdate.stores import batch_get
from postdate.stores.attributes import AttributeMap, milliseconds
from postdate.stores.faults import translated
from postdate.stores.flow import Key, Timeline
from postdate.stores.flow_table import KEY, ROOM, WAITING, FlowTable, instant_of, number_value, row_key
from postdate.stores.rooms_dynamo import room_of
from postdate.stores.rows import the_one
from postdate.stores.timelines_dynamo import places_of

ReadT = TypeVar("ReadT")
_LAST: Final = "\U0010ffff"
PAUSED: Final = "paused"


class DynamoFlowKeys(FlowTable):
    def keys(self, keys: Iterable[Key]) -> Mapping[Key, FlowKey]:
        """Returns the setting of each key; a key without a row gets an empty one. Raises Unavailable if a row cannot be
        read: a key that is left out would count as not paused."""
        wanted = list(dict.fromkeys(keys))
        rows = batch_get.rows(
            self._client, self._table, [row_key(tenant, KEY + key) for tenant, key in wanted]
        )
        found = {
            (row["tenant"]["S"], row["name"]["S"].removeprefix(KEY)): the_one(row, _flow_key) for row in rows
        }
        return dict.fromkeys(wanted, FlowKey()) | found

    def key(self, key: Key) -> FlowKey:
        row = self._get(key[0], KEY + key[1], consistent=True)
        return FlowKey() if row is None else the_one(row, _flow_key)

    def change_key(self, key: Key, before: FlowKey, after: FlowKey) -> bool:
        numbers = {
            "version": after.version,
            "rate": after.rate,
            "period_seconds": after.period_seconds,
            "parallelism": after.parallelism,
            "paused_at": milliseconds(after.paused_at),
        }
        there = {name: value for name, value in numbers.items() if value is not None}
        gone = [name for name in numbers if name not in there]
        # Each pause counts its own waiting runs.
        if after.paused_at is None or after.paused_at != before.paused_at:
            gone.append(WAITING)
        set_to: dict[str, dict[str, Any]] = {f":{name}": number_value(value) for name, value in there.items()}
        set_to |= self._noted("flow_key.changed", after.version)
        if after.paused_at is None:
            gone.append("attention")
        else:
            set_to[":attention"] = {"S": PAUSED}
        return self._replace_fields(key[0], KEY + key[1], set_to, gone, before=before.version)

    def add_waiting(self, key: Key, more: int) -> None:
        self._update(
            key[0],
            KEY + key[1],
            "ADD #waiting :more",
            where="attribute_exists(#paused)",
            names={"#waiting": WAITING, "#paused": "paused_at"},
            values={":more": number_value(more)},
        )

    def used(self, tenant: str, keys: Iterable[str]) -> Mapping[str, Used]:
        """Reads the setting, the timeline and the room of each key in one request."""
        wanted = list(dict.fromkeys(keys))
        names = [prefix + key for key in wanted for prefix in (Timeline.RATE, ROOM, KEY)]
        rows = batch_get.rows(self._client, self._table, [row_key(tenant, name) for name in names])
        found = {row["name"]["S"]: row for row in rows}

        def read(name: str, of: Callable[[AttributeMap], ReadT]) -> ReadT | None:
            return the_one(found[name], of) if name in found else None

        return {
            key: Used(
                key=read(KEY + key, _flow_key) or FlowKey(),
                places=read(Timeline.RATE + key, places_of),
                room=read(ROOM + key, room_of),
            )
            for key in wanted
        }

    def keys_listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        """Three queries: of timelines, of rooms, and of keys that were set."""
        found = {
            name.removeprefix(prefix)
            for prefix in (Timeline.RATE, ROOM, KEY)
            for name in self._named(tenant, prefix, after, limit)
        }
        return sorted(found, key=str.encode)[:limit]

    def _named(self, tenant: str, prefix: str, after: str, limit: int) -> list[str]:
        """The last name in the range is one that no key has: it may be as long as DynamoDB lets a name be."""
        with translated():
            page = self._client.query(
                TableName=self._table,
                KeyConditionExpression="tenant = :tenant AND #name BETWEEN :first AND :last",
                ExpressionAttributeNames={"#name": "name"},
                ExpressionAttributeValues={
                    ":tenant": {"S": tenant},
                    ":first": {"S": f"{prefix}{after}\0" if after else prefix},
                    ":last": {"S": prefix + _LAST},
                },
                ProjectionExpression="#name",
                Limit=limit,
            )
        return [row["name"]["S"] for row in page["Items"]]


def _flow_key(row: AttributeMap) -> FlowKey:
    numbers = {
        name: int(row[name]["N"])
        for name in ("rate", "period_seconds", "parallelism", WAITING)
        if name in row
    }
    return FlowKey(
        **numbers,
        paused_at=instant_of(row["paused_at"]) if "paused_at" in row else None,
        version=int(row["version"]["N"]),
    )
