"""The table of flow: reads of one row, and updates of one row under a condition."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from postdate.domain import instants
from postdate.runtime.author import nobody
from postdate.stores import notes
from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.notes import Note

if TYPE_CHECKING:
    from botocore.client import BaseClient


KEPT: Final = timedelta(days=2)
MICROSECOND: Final = timedelta(microseconds=1)
MILLISECOND: Final = timedelta(milliseconds=1)
# The beginnings of the names of rows.
ROOM: Final = "room#"
KEY: Final = "key#"
BREAKER: Final = "breaker#"
# The number of runs put off by a paused key, or of calls put off by an open breaker. Counting leaves the version of the
# row. The begin and the end of a pause remove the count, and so does the closing of a breaker.
WAITING: Final = "waiting"


class FlowTable:
    def __init__(
        self,
        *,
        table: str,
        client: "BaseClient",
        author: Callable[[], str] = nobody,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """`author` is noted in changes that are told as events, and so is the instant."""
        self._author = author
        self._now = now
        self._table = table
        self._client = client

    def _get(self, tenant: str, name: str, *, consistent: bool) -> AttributeMap | None:
        with translated():
            answer = self._client.get_item(
                TableName=self._table, Key=row_key(tenant, name), ConsistentRead=consistent
            )
        row: AttributeMap | None = answer.get("Item")
        return row

    def _replace_fields(
        self,
        tenant: str,
        name: str,
        set_to: Mapping[str, Mapping[str, Any]],
        gone: Iterable[str],
        *,
        before: int,
    ) -> bool:
        """Sets these values, each under its name with a colon, and removes the attributes that are gone. False if the
        row no longer has the version `before`; 0 stands for no row."""
        gone = list(gone)
        removed = f" REMOVE {', '.join(f'#{each}' for each in gone)}" if gone else ""
        return (
            self._update(
                tenant,
                name,
                "SET " + ", ".join(f"#{each[1:]} = {each}" for each in set_to) + removed,
                where="#version = :before" if before else "attribute_not_exists(#version)",
                names={f"#{each}": each for each in ("version", *(given[1:] for given in set_to), *gone)},
                values={**set_to, **({":before": number_value(before)} if before else {})},
            )
            is not None
        )

    def _update(
        self,
        tenant: str,
        name: str,
        change: str,
        *,
        where: str,
        names: Mapping[str, str],
        values: Mapping[str, Mapping[str, Any]],
    ) -> AttributeMap | None:
        """Returns the row as written, or None if the condition did not hold."""
        written, row = self._try_update(tenant, name, change, where=where, names=names, values=values)
        return row if written else None

    def _try_update(
        self,
        tenant: str,
        name: str,
        change: str,
        *,
        where: str,
        names: Mapping[str, str],
        values: Mapping[str, Mapping[str, Any]],
    ) -> tuple[bool, AttributeMap]:
        """Updates a row under a condition. Returns True with the new row if the condition was met, else False with the
        stored row."""
        # DynamoDB refuses an empty map of values.
        given = {"ExpressionAttributeValues": values} if values else {}
        try:
            with translated():
                answer = self._client.update_item(
                    TableName=self._table,
                    Key=row_key(tenant, name),
                    UpdateExpression=change,
                    ConditionExpression=where,
                    ExpressionAttributeNames=names,
                    ReturnValues="UPDATED_NEW",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                    **given,
                )
        except self._client.exceptions.ConditionalCheckFailedException as refused:
            return False, refused.response.get("Item", {})
        return True, answer.get("Attributes", {})

    def _noted(self, type: str, number: int) -> dict[str, dict[str, Any]]:
        note = Note(type=type, at=self._now(), by=self._author())
        return {f":{notes.COUNT}": number_value(number), f":{notes.NOTE}": {"S": notes.text_of([note])}}


def row_key(tenant: str, name: str) -> AttributeMap:
    return {"tenant": {"S": tenant}, "name": {"S": name}}


def microseconds(instant: datetime) -> int:
    return (instant - instants.EPOCH) // MICROSECOND


def number_value(value: int) -> dict[str, str]:
    return {"N": str(value)}


def instant_value(value: datetime) -> dict[str, str]:
    return number_value(instants.milliseconds(value))


def instant_of(value: Mapping[str, Any]) -> datetime:
    return instants.from_milliseconds(int(value["N"]))


def expiry(at: datetime, kept: timedelta) -> dict[str, str]:
    return number_value(int((at + kept).timestamp()))
