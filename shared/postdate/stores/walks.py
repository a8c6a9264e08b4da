"""The progress of the walk that archives payments: the last minute that it went through, and slots to look at again.

The rows are in the table of the passes. A place that is put back by a restore makes the walk repeat what it did.
"""

from datetime import date
from typing import TYPE_CHECKING, Any, Final, Protocol

from postdate.domain.slots import Slot
from postdate.stores.faults import translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

SCOPE: Final = "retention"
_PLACE: Final = "walked"
_AGAIN: Final = "again "
_BEHIND: Final = "~"


class Walks(Protocol):
    """Each call raises Unavailable."""

    def walked(self) -> int | None:
        """The last minute whose slots were all looked at; None before the first walk."""

    def walk_to(self, minute: int) -> None:
        """Never lowers the place."""

    def look_again(self, slot: Slot, day: date) -> None:
        """Notes that payments of the slot were left, and the day from which they may be ready."""

    def again(self, until: date, *, limit: int) -> list[tuple[date, Slot]]:
        """The notes of days up to this one, the oldest first."""

    def forget(self, slot: Slot, day: date) -> None:
        """Removes a note."""


class DynamoWalks:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client: Any = client

    def walked(self) -> int | None:
        with translated():
            found = self._client.get_item(TableName=self._table, Key=_key(_PLACE), ConsistentRead=True)
        return int(found["Item"]["number"]["N"]) if "Item" in found else None

    def walk_to(self, minute: int) -> None:
        try:
            with translated():
                self._client.put_item(
                    TableName=self._table,
                    Item={**_key(_PLACE), "number": {"N": str(minute)}},
                    ConditionExpression="attribute_not_exists(#number) OR #number < :number",
                    ExpressionAttributeNames={"#number": "number"},
                    ExpressionAttributeValues={":number": {"N": str(minute)}},
                )
        except self._client.exceptions.ConditionalCheckFailedException:
            return

    def look_again(self, slot: Slot, day: date) -> None:
        item = {
            **_key(_name(slot, day)),
            "minute": {"N": str(slot.minute)},
            "shard": {"N": str(slot.shard)},
        }
        with translated():
            self._client.put_item(TableName=self._table, Item=item)

    def again(self, until: date, *, limit: int) -> list[tuple[date, Slot]]:
        with translated():
            found = self._client.query(
                TableName=self._table,
                KeyConditionExpression="#scope = :scope AND #name BETWEEN :first AND :last",
                ExpressionAttributeNames={"#scope": "scope", "#name": "name"},
                ExpressionAttributeValues={
                    ":scope": {"S": SCOPE},
                    ":first": {"S": _AGAIN},
                    ":last": {"S": f"{_AGAIN}{until.isoformat()}{_BEHIND}"},
                },
                ConsistentRead=True,
                Limit=limit,
            )
        return [_noted(row) for row in found["Items"]]

    def forget(self, slot: Slot, day: date) -> None:
        with translated():
            self._client.delete_item(TableName=self._table, Key=_key(_name(slot, day)))


class MemoryWalks:
    def __init__(self) -> None:
        self.place: int | None = None
        self.notes: set[tuple[date, Slot]] = set()

    def walked(self) -> int | None:
        return self.place

    def walk_to(self, minute: int) -> None:
        self.place = minute if self.place is None else max(self.place, minute)

    def look_again(self, slot: Slot, day: date) -> None:
        self.notes.add((day, slot))

    def again(self, until: date, *, limit: int) -> list[tuple[date, Slot]]:
        return sorted(each for each in self.notes if each[0] <= until)[:limit]

    def forget(self, slot: Slot, day: date) -> None:
        self.notes.discard((day, slot))


def _key(name: str) -> dict[str, Any]:
    return {"scope": {"S": SCOPE}, "name": {"S": name}}


def _name(slot: Slot, day: date) -> str:
    return f"{_AGAIN}{day.isoformat()} {slot.key}"


def _noted(row: dict[str, Any]) -> tuple[date, Slot]:
    day = row["name"]["S"].removeprefix(_AGAIN).partition(" ")[0]
    slot = Slot(minute=int(row["minute"]["N"]), shard=int(row["shard"]["N"]))
    return date.fromisoformat(day), slot
