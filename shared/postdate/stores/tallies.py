"""Tallies of minutes: one row of all tenants for each minute and shard group, and one of each tenant that had items.

They are in the table of the passes, which only the sweep writes. A group without items has no row.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from postdate.domain import instants
from postdate.domain.errors import Unavailable
from postdate.domain.tally import MinuteTally
from postdate.stores.attributes import AttributeMap, compact, typed
from postdate.stores.faults import translated

if TYPE_CHECKING:
    from botocore.client import BaseClient

# Tallies by tenant and kind, and those of one tenant or of all by minute and kind.
Sums: TypeAlias = Mapping[str, Mapping[str, MinuteTally]]
Minutes: TypeAlias = Mapping[int, Mapping[str, MinuteTally]]

KEPT: Final = timedelta(days=2)
_SCOPE: Final = "tally"
# BatchWriteItem takes 25 rows.
_AT_ONCE: Final = 25
_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.05


class Tallies(Protocol):
    def record(self, minute: int, group: int, sums: Sums) -> None:
        """Replaces what was recorded of this group. Raises Unavailable if not all of it could be written."""

    def between(self, first: int, last: int, *, tenant: str | None = None) -> Minutes:
        """The tallies of these minutes, of one tenant or of all; minutes without items are left out."""


class DynamoTallies:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def record(self, minute: int, group: int, sums: Sums) -> None:
        rows = [_row(scope_of(tenant), minute, group, kinds) for tenant, kinds in sums.items()]
        if sums:
            rows.insert(0, _row(_SCOPE, minute, group, _total(sums.values())))
        for start in range(0, len(rows), _AT_ONCE):
            self._write([{"PutRequest": {"Item": row}} for row in rows[start : start + _AT_ONCE]])

    def _write(self, requests: list[dict[str, Any]]) -> None:
        left = requests
        for tried in range(_TRIES):
            time.sleep(_PAUSE_SECONDS * tried)
            with translated():
                answer = self._client.batch_write_item(RequestItems={self._table: left})
            left = answer.get("UnprocessedItems", {}).get(self._table, [])
            if not left:
                return
        raise Unavailable(f"{len(left)} tallies were left unwritten")

    def between(self, first: int, last: int, *, tenant: str | None = None) -> Minutes:
        found: dict[int, dict[str, MinuteTally]] = defaultdict(dict)
        for row in self._rows(first, last, _SCOPE if tenant is None else scope_of(tenant)):
            minute = int(row["minute"]["N"])
            _add(found[minute], _tallies(row["sums"]["S"]))
        return found

    def _rows(self, first: int, last: int, scope: str) -> Iterator[AttributeMap]:
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "#scope = :scope AND #name BETWEEN :first AND :last",
            "ExpressionAttributeNames": {"#scope": "scope", "#name": "name"},
            "ExpressionAttributeValues": {
                ":scope": {"S": scope},
                ":first": {"S": _name(first, 0)},
                ":last": {"S": _name(last, 99)},
            },
        }
        while True:
            with translated():
                page = self._client.query(**asked)
            yield from page["Items"]
            if "LastEvaluatedKey" not in page:
                return
            asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]


class MemoryTallies:
    def __init__(self) -> None:
        self._recorded: dict[tuple[int, int], Sums] = {}

    def record(self, minute: int, group: int, sums: Sums) -> None:
        self._recorded[minute, group] = sums

    def between(self, first: int, last: int, *, tenant: str | None = None) -> Minutes:
        found: dict[int, dict[str, MinuteTally]] = defaultdict(dict)
        for (minute, _), sums in self._recorded.items():
            if first <= minute <= last:
                wanted = sums.values() if tenant is None else [sums[tenant]] if tenant in sums else []
                for kinds in wanted:
                    _add(found[minute], kinds)
        return found


def _add(to: dict[str, MinuteTally], kinds: Mapping[str, MinuteTally]) -> None:
    for kind, tally in kinds.items():
        to[kind] = to.get(kind, MinuteTally()) + tally


def _total(sums: Iterable[Mapping[str, MinuteTally]]) -> dict[str, MinuteTally]:
    found: dict[str, MinuteTally] = {}
    for kinds in sums:
        _add(found, kinds)
    return found


def scope_of(tenant: str) -> str:
    return f"{tenant}#{_SCOPE}"


def _name(minute: int, group: int) -> str:
    return f"{instants.start_of(minute):%Y-%m-%dT%H:%M}#{group:02d}"


def _row(scope: str, minute: int, group: int, kinds: Mapping[str, MinuteTally]) -> AttributeMap:
    texts = {"scope": scope, "name": _name(minute, group), "sums": _text(kinds)}
    expires_at = int((instants.end_of(minute) + KEPT).timestamp())
    return typed(texts, {"minute": minute, "expires_at": expires_at})


def _text(kinds: Mapping[str, MinuteTally]) -> str:
    return compact(
        {
            kind: [each.due, each.done, each.failed, each.retried, each.amount, dict(each.lateness)]
            for kind, each in kinds.items()
        }
    )


def _tallies(text: str) -> dict[str, MinuteTally]:
    return {
        kind: MinuteTally(
            due=due,
            done=done,
            failed=failed,
            retried=retried,
            amount=amount,
            lateness={int(bucket): count for bucket, count in lateness.items()},
        )
        for kind, (due, done, failed, retried, amount, lateness) in json.loads(text).items()
    }
