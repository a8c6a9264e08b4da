"""Reconciliations in DynamoDB: rows of the table `operations`, one a night, under a key of their own."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Protocol

from postdate.domain import instants
from postdate.domain.reconciling import Proposal, Reconciliation
from postdate.stores.attributes import AttributeMap, compact, typed
from postdate.stores.faults import translated
from postdate.stores.rows import readable, the_one

if TYPE_CHECKING:
    from botocore.client import BaseClient

KEPT: Final = timedelta(days=95)
_KEY: Final = "reconciliations"
_AT_ONCE: Final = 50


class Reconciliations(Protocol):
    def put(self, found: Reconciliation) -> None:
        """Writes the report of a run; one that is written already stays as it is."""

    def get(self, id: str) -> Reconciliation | None:
        """Returns the present state of the run."""

    def newest(self, *, before: str, limit: int) -> list[Reconciliation]:
        """The newest first; from the end when `before` is empty. Fewer than `limit` only at the end of the list:
        rows that cannot be read take no place."""

    def each(self) -> Iterator[Reconciliation]:
        """All of them, the newest first. Raises Unreadable for a row that only newer code reads: none may be missed."""

    def change(self, after: Reconciliation) -> bool:
        """False if it is no longer at the version before."""


class DynamoReconciliations:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def put(self, found: Reconciliation) -> None:
        self._written(_row(found), "attribute_not_exists(place)", {})

    def get(self, id: str) -> Reconciliation | None:
        row = self._get(id)
        return None if row is None else _reconciliation(row)

    def newest(self, *, before: str, limit: int) -> list[Reconciliation]:
        rows, goes_on = self._rows(before, limit)
        found = list(readable(rows, _reconciliation))
        while goes_on and len(found) < limit:
            rows, goes_on = self._rows(rows[-1]["place"]["S"], _AT_ONCE)
            found += readable(rows, _reconciliation)
        return found[:limit]

    def each(self) -> Iterator[Reconciliation]:
        before, goes_on = "", True
        while goes_on:
            rows, goes_on = self._rows(before, _AT_ONCE)
            for row in rows:
                yield the_one(row, _reconciliation)
                before = row["place"]["S"]

    def change(self, after: Reconciliation) -> bool:
        values = {":before": {"N": str(after.version - 1)}}
        return self._written(_row(after), "version = :before", values)

    def _rows(self, before: str, limit: int) -> tuple[list[AttributeMap], bool]:
        """The next rows, and True if more may follow. An answer of DynamoDB has 1 MB at most."""
        with translated():
            answer = self._client.query(
                TableName=self._table,
                KeyConditionExpression="operation = :key" + (" AND place < :before" if before else ""),
                ExpressionAttributeValues={":key": {"S": _KEY}}
                | ({":before": {"S": before}} if before else {}),
                ScanIndexForward=False,
                Limit=limit,
            )
        rows = list(answer["Items"])
        return rows, bool(rows) and "LastEvaluatedKey" in answer

    def _get(self, id: str) -> AttributeMap | None:
        with translated():
            answer = self._client.get_item(
                TableName=self._table,
                Key={"operation": {"S": _KEY}, "place": {"S": id}},
                ConsistentRead=True,
            )
        row: AttributeMap | None = answer.get("Item")
        return row

    def _written(self, row: AttributeMap, condition: str, values: AttributeMap) -> bool:
        """A row that is stored already, as after an answer that got lost, counts as written."""
        given: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
        try:
            with translated():
                self._client.put_item(TableName=self._table, Item=row, ConditionExpression=condition, **given)
        except self._client.exceptions.ConditionalCheckFailedException:
            return self._get(row["place"]["S"]) == row
        return True


def _row(found: Reconciliation) -> AttributeMap:
    proposals = [
        [
            *(each.tenant, each.subject, each.repair, each.approved_by),
            None if each.approved_at is None else instants.milliseconds(each.approved_at),
            *(each.reason, each.outcome),
        ]
        for each in found.proposals
    ]
    texts = {
        "operation": _KEY,
        "place": found.id,
        "name": found.id,
        "by_check": compact(dict(found.by_check)),
        "looked_at": compact(dict(found.looked_at)),
        "report": found.report,
        "findings": compact([dict(each) for each in found.findings]),
        "proposals": compact(proposals),
    }
    numbers = {
        "version": found.version,
        "started": instants.milliseconds(found.started_at),
        "finished": instants.milliseconds(found.finished_at),
        "unjudged": found.unjudged,
        "filled": found.events_filled,
        "expires_at": int((found.started_at + KEPT).timestamp()),
    }
    return typed(texts, numbers)


def _reconciliation(row: Mapping[str, Any]) -> Reconciliation:
    found = Reconciliation(
        id=row["place"]["S"],
        started_at=_instant(row, "started"),
        finished_at=_instant(row, "finished"),
        by_check=json.loads(row["by_check"]["S"]),
        looked_at=json.loads(row["looked_at"]["S"]),
        unjudged=int(row["unjudged"]["N"]),
        events_filled=int(row["filled"]["N"]),
        report=row["report"]["S"],
        findings=tuple(json.loads(row["findings"]["S"])),
        version=int(row["version"]["N"]),
    )
    return replace(found, proposals=tuple(map(_proposal, json.loads(row["proposals"]["S"]))))


def _proposal(values: list[Any]) -> Proposal:
    """Reads a proposal from its list of values, see `_row`."""
    tenant, subject, repair, approved_by, approved_at, reason, outcome = values
    return Proposal(
        tenant=tenant,
        subject=subject,
        repair=repair,
        approved_by=approved_by,
        approved_at=None if approved_at is None else instants.from_milliseconds(approved_at),
        reason=reason,
        outcome=outcome,
    )


def _instant(row: Mapping[str, Any], name: str) -> datetime:
    return instants.from_milliseconds(int(row[name]["N"]))
