"""Counts of the calendar of all tenants: a row for each hour, with the numbers of its minutes by tier.

The rows are in the table of the passes. They expire two days after their hour.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from postdate.domain import instants
from postdate.domain.calendar import DueCount
from postdate.runtime.metric import STANDARD, TIERS
from postdate.stores.faults import translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

KEPT: Final = timedelta(days=2)
SCOPE: Final = "calendar#"
_HOUR: Final = 60
_DAY: Final = 24 * _HOUR


class Calendar(Protocol):
    def add(self, changes: Mapping[str, Mapping[int, DueCount]]) -> None:
        """Adds these numbers by tier and minute to the counts, each call anew. Raises Unavailable; then some of the
        hours may have been counted."""

    def between(self, first: int, last: int) -> dict[str, dict[int, DueCount]]:
        """The counts of these minutes by tier, without those that are 0."""


class DynamoCalendar:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client: Any = client

    def add(self, changes: Mapping[str, Mapping[int, DueCount]]) -> None:
        # An expression has 4 KB at most, and the numbers of two tiers would be more.
        by_hour: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
        for tier, some in changes.items():
            for minute, due in some.items():
                by_hour[minute // _HOUR, tier].update(_numbers(minute % _HOUR, tier, due))
        for (hour, _), numbers in by_hour.items():
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

    def between(self, first: int, last: int) -> dict[str, dict[int, DueCount]]:
        found: dict[str, dict[int, DueCount]] = {tier: {} for tier in TIERS}
        # All hours of a day have the same scope, so one query reads them.
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
                numbers = {name: int(value.get("N", 0)) for name, value in row.items()}
                for tier, counts in found.items():
                    counts |= _counts(hour, tier, numbers)
        return _within(found, first, last)


class MemoryCalendar:
    def __init__(self) -> None:
        self._counts = defaultdict[str, defaultdict[int, DueCount]](lambda: defaultdict(DueCount))

    def add(self, changes: Mapping[str, Mapping[int, DueCount]]) -> None:
        for tier, some in changes.items():
            for minute, due in some.items():
                self._counts[tier][minute] += due

    def between(self, first: int, last: int) -> dict[str, dict[int, DueCount]]:
        return _within(self._counts, first, last)


def _within(
    counts: Mapping[str, Mapping[int, DueCount]], first: int, last: int
) -> dict[str, dict[int, DueCount]]:
    found = {
        tier: {minute: due for minute, due in some.items() if first <= minute <= last and due != DueCount()}
        for tier, some in counts.items()
    }
    return {tier: some for tier, some in found.items() if some}


def _scope(hour: int) -> str:
    return f"{SCOPE}{instants.start_of(hour * _HOUR):%Y-%m-%d}"


def _name(hour: int) -> str:
    return f"{hour % 24:02d}"


def _named(letter: str, minute: int, tier: str) -> str:
    """An attribute, such as `p07` for the payments due at seven minutes past, and `p07_gold` for those of a tier other
    than the usual one."""
    return f"{letter}{minute:02d}" if tier == STANDARD else f"{letter}{minute:02d}_{tier}"


def _numbers(minute: int, tier: str, due: DueCount) -> dict[str, int]:
    named = {"t": due.tasks, "p": due.payments, "a": due.amount}
    return {_named(letter, minute, tier): number for letter, number in named.items() if number}


def _counts(hour: int, tier: str, numbers: Mapping[str, int]) -> dict[int, DueCount]:
    return {
        hour * _HOUR + minute: DueCount(
            tasks=numbers.get(_named("t", minute, tier), 0),
            payments=numbers.get(_named("p", minute, tier), 0),
            amount=numbers.get(_named("a", minute, tier), 0),
        )
        for minute in range(_HOUR)
    }
