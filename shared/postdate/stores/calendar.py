"""Counts of the calendar of all tenants: a row for each hour, with the numbers of its minutes.

The rows are in the table of the passes. They expire two days after their hour.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from postdate.domain import instants
from postdate.domain.calendar import DueCount
from postdate.stores.faults import translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

KEPT: Final = timedelta(days=2)
SCOPE: Final = "calendar#"
_HOUR: Final = 60
_DAY: Final = 24 * _HOUR


class Calendar(Protocol):
    def add(self, changes: Mapping[int, DueCount]) -> None:
        """Adds these numbers to the counts of the minutes, each call anew. Raises Unavailable; then some of the hours
        may have been counted."""

    def between(self, first: int, last: int) -> dict[int, DueCount]:
        """The counts of these minutes, without those that are 0."""


class DynamoCalendar:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client: Any = client

    def add(self, changes: Mapping[int, DueCount]) -> None:
        by_hour: dict[int, dict[str, int]] = defaultdict(dict)
        for minute, due in changes.items():
            by_hour[minute // _HOUR].update(_numbers(minute % _HOUR, due))
        for hour, numbers in by_hour.items():
            self._add(hour, numbers)

    def _add(self, hour: int, numbers: Mapping[str, int]) -> None:
        added = ", ".join(f"{name} :{name}" for name in numbers)
        expires = int((instants.start_of((hour + 1) * _HOUR) + KEPT).timestamp())
        with translated():
            self._client.update_item(
                TableName=self._table,
                Key={"scope": {"S": _scope(hour)}, "name": {"S": _name(hour)}},
                UpdateExpression=f"SET expires_at = :expires_at ADD {added}",
                ExpressionAttributeValues={
                    f":{name}": {"N": str(number)}
                    for name, number in {**numbers, "expires_at": expires}.items()
                },
            )

    def between(self, first: int, last: int) -> dict[int, DueCount]:
        found: dict[int, DueCount] = {}
        for day in range(first // _DAY, last // _DAY + 1):
            with translated():
                page = self._client.query(
                    TableName=self._table,
                    KeyConditionExpression="#scope = :scope",
                    ExpressionAttributeNames={"#scope": "scope"},
                    ExpressionAttributeValues={":scope": {"S": _scope(day * _DAY // _HOUR)}},
                )
            for row in page["Items"]:
                hour = day * _DAY // _HOUR + int(row["name"]["S"])
                found |= _counts(hour, {name: int(value.get("N", 0)) for name, value in row.items()})
        return {minute: due for minute, due in found.items() if first <= minute <= last and due != DueCount()}


class MemoryCalendar:
    def __init__(self) -> None:
        self._counts = defaultdict[int, DueCount](DueCount)

    def add(self, changes: Mapping[int, DueCount]) -> None:
        for minute, due in changes.items():
            self._counts[minute] += due

    def between(self, first: int, last: int) -> dict[int, DueCount]:
        return {
            minute: due
            for minute, due in self._counts.items()
            if first <= minute <= last and due != DueCount()
        }


def _scope(hour: int) -> str:
    return f"{SCOPE}{instants.start_of(hour * _HOUR):%Y-%m-%d}"


def _name(hour: int) -> str:
    return f"{hour % 24:02d}"


def _numbers(minute: int, due: DueCount) -> dict[str, int]:
    """The attributes of a minute, such as `p07` for the payments due at seven minutes past."""
    named = {"t": due.tasks, "p": due.payments, "a": due.amount}
    return {f"{letter}{minute:02d}": number for letter, number in named.items() if number}


def _counts(hour: int, numbers: Mapping[str, int]) -> dict[int, DueCount]:
    return {
        hour * _HOUR + minute: DueCount(
            tasks=numbers.get(f"t{minute:02d}", 0),
            payments=numbers.get(f"p{minute:02d}", 0),
            amount=numbers.get(f"a{minute:02d}", 0),
        )
        for minute in range(_HOUR)
    }
