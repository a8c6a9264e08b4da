"""Erasures under way: rows of the table `tenants`, each under the new name of the tenant that is erased.

The row keeps the old name, the key of the new names and the place until the last write, which leaves the new name and
the instant alone. A tenant's row with `erased_as` is no longer changed by operators.
"""

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

from postdate.domain import instants
from postdate.domain.erasing import Erasure
from postdate.stores import notes
from postdate.stores.attributes import AttributeMap, instant, milliseconds, typed
from postdate.stores.faults import translated
from postdate.stores.notes import COUNT, NOTE, Note

if TYPE_CHECKING:
    from botocore.client import BaseClient

ERASED: Final = "tenant.erased"
# Why such a tenant registers nothing, for code that knows no erasure.
_BECAUSE: Final = "erased"


class Erasures(Protocol):
    """Each call raises Unavailable."""

    def begin(self, erasure: Erasure) -> None:
        """Writes the row of an erasure. Changes nothing if the erasure has begun or is over: each repeated request
        calls this again."""

    def get(self, tenant: str) -> Erasure | None:
        """By the new name; None if it never began, and after its end."""

    def under_way(self) -> frozenset[str]:
        """The old and the new names of tenants whose erasure is under way, by a scan."""

    def note_progress(self, to: Erasure) -> None:
        """Notes the place. Does nothing after the end of the erasure."""

    def finish(self, erasure: Erasure, *, now: datetime) -> None:
        """Removes the old name and the key, and notes the event `tenant.erased`. Repeatable."""


class DynamoErasures:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client: Any = client

    def begin(self, erasure: Erasure) -> None:
        texts = {
            "tenant": erasure.tenant,
            "erased_as": erasure.tenant,
            "suspended_because": _BECAUSE,
            "erases": erasure.of,
            "salt": erasure.salt,
            "by": erasure.by,
        }
        numbers = {"began": instants.milliseconds(erasure.began_at), "step": erasure.step}
        self._written(
            "put_item",
            Item=typed(texts, numbers),
            ConditionExpression="attribute_not_exists(tenant)",
        )

    def get(self, tenant: str) -> Erasure | None:
        with translated():
            found = self._client.get_item(TableName=self._table, Key=_key(tenant), ConsistentRead=True)
        row: AttributeMap | None = found.get("Item")
        return None if row is None or "erases" not in row else _erasure(row)

    def under_way(self) -> frozenset[str]:
        asked: dict[str, Any] = {
            "TableName": self._table,
            "FilterExpression": "attribute_exists(erases)",
            "ProjectionExpression": "tenant, erases",
        }
        found = set[str]()
        while True:
            with translated():
                answer = self._client.scan(**asked)
            found |= {row[name]["S"] for row in answer["Items"] for name in ("tenant", "erases")}
            if "LastEvaluatedKey" not in answer:
                return frozenset(found)
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def note_progress(self, to: Erasure) -> None:
        values: AttributeMap = {":step": {"N": str(to.step)}, ":rows": {"N": str(to.rows)}}
        sets, removes = ["#step = :step", "#rows = :rows"], []
        for name, value in (
            ("after", None if to.after is None else {"S": to.after}),
            ("until", None if to.until is None else {"N": str(milliseconds(to.until))}),
        ):
            if value is None:
                removes.append(f"#{name}")
            else:
                sets.append(f"#{name} = :{name}")
                values[f":{name}"] = value
        self._written(
            "update_item",
            Key=_key(to.tenant),
            UpdateExpression=f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else ""),
            ConditionExpression="attribute_exists(#erases)",
            ExpressionAttributeNames={
                f"#{name}": name for name in ("step", "rows", "after", "until", "erases")
            },
            ExpressionAttributeValues=values,
        )

    def finish(self, erasure: Erasure, *, now: datetime) -> None:
        note = Note(type=ERASED, at=now, by=erasure.by)
        texts = {
            "tenant": erasure.tenant,
            "erased_as": erasure.tenant,
            "suspended_because": _BECAUSE,
            NOTE: notes.text_of([note]),
        }
        numbers = {"erased_at": instants.milliseconds(now), COUNT: 1}
        self._written("put_item", Item=typed(texts, numbers), ConditionExpression="attribute_exists(erases)")

    def _written(self, operation: str, **given: Any) -> None:
        """A condition that does not hold means that a repeated or slower writer came late."""
        try:
            with translated():
                getattr(self._client, operation)(TableName=self._table, **given)
        except self._client.exceptions.ConditionalCheckFailedException:
            return


class MemoryErasures:
    def __init__(self) -> None:
        self.rows: dict[str, Erasure] = {}
        self.finished: dict[str, datetime] = {}

    def begin(self, erasure: Erasure) -> None:
        if erasure.tenant not in self.finished:
            self.rows.setdefault(erasure.tenant, erasure)

    def get(self, tenant: str) -> Erasure | None:
        return self.rows.get(tenant)

    def under_way(self) -> frozenset[str]:
        return frozenset(name for each in self.rows.values() for name in (each.tenant, each.of))

    def note_progress(self, to: Erasure) -> None:
        if (known := self.rows.get(to.tenant)) is not None:
            self.rows[to.tenant] = replace(known, step=to.step, after=to.after, until=to.until, rows=to.rows)

    def finish(self, erasure: Erasure, *, now: datetime) -> None:
        if self.rows.pop(erasure.tenant, None) is not None:
            self.finished[erasure.tenant] = now


def _key(tenant: str) -> AttributeMap:
    return {"tenant": {"S": tenant}}


def _erasure(row: AttributeMap) -> Erasure:
    """The erasure that a row keeps."""
    return Erasure(
        tenant=row["tenant"]["S"],
        of=row["erases"]["S"],
        salt=row["salt"]["S"],
        by=row["by"]["S"],
        began_at=instants.from_milliseconds(int(row["began"]["N"])),
        step=int(row["step"]["N"]),
        after=row["after"]["S"] if "after" in row else None,
        until=instant(float(row["until"]["N"])) if "until" in row else None,
        rows=int(row["rows"]["N"]) if "rows" in row else 0,
    )
