"""Operations in DynamoDB: a row for the operation, one for each 25 of its items, and one for each tenant with those
that run."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from postdate.domain import instants
from postdate.domain.errors import Unreadable
from postdate.domain.operation import Operation
from postdate.domain.operation_pages import Page
from postdate.domain.operation_seats import Seat, Seats
from postdate.stores.attributes import AttributeMap, compact, typed
from postdate.stores.faults import translated
from postdate.stores.operation_rows import (
    ACTIVE_ROW,
    HEAD,
    head_row,
    of_tenant,
    operation_of,
    page_of,
    page_row,
    place_of_page,
)
from postdate.stores.rows import readable

if TYPE_CHECKING:
    from botocore.client import BaseClient

_SEATS: Final = "seats"


class DynamoOperations:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def add(self, operation: Operation, pages: Sequence[Page]) -> None:
        for page in pages:
            self._put(page_row(page), before=0)
        self._put(head_row(operation), before=0)

    def get(self, id: str) -> Operation | None:
        row = self._get(id, HEAD)
        if row is None:
            return None
        for found in readable([row], operation_of):
            return found
        raise Unreadable(f"{id} was written by newer code")

    def change(self, after: Operation) -> bool:
        return self._put(head_row(after), before=after.version - 1)

    def pages(self, operation: Operation, *, first: int, limit: int) -> list[Page]:
        if first >= operation.pages:
            return []
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "operation = :operation AND place BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":operation": {"S": operation.id},
                ":first": {"S": place_of_page(first)},
                ":last": {"S": place_of_page(first + limit - 1)},
            },
            "ConsistentRead": True,
        }
        found: list[Page] = []
        while True:
            with translated():
                answer = self._client.query(**asked)
            found += [page_of(row) for row in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return found
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def change_page(self, after: Page) -> bool:
        return self._put(page_row(after), before=after.version - 1)

    def listed(self, tenant: str, *, before: str, limit: int) -> list[str]:
        with translated():
            answer = self._client.query(
                TableName=self._table,
                IndexName="by_tenant",
                KeyConditionExpression="tenant = :tenant" + (" AND operation < :before" if before else ""),
                ExpressionAttributeValues={":tenant": {"S": tenant}}
                | ({":before": {"S": before}} if before else {}),
                ScanIndexForward=False,
                Limit=limit,
            )
        return [row["operation"]["S"] for row in answer["Items"]]

    def active(self) -> list[str]:
        asked: dict[str, Any] = {
            "TableName": self._table,
            "IndexName": "by_activity",
            "KeyConditionExpression": "active = :yes",
            "ExpressionAttributeValues": {":yes": {"S": ACTIVE_ROW}},
        }
        found: list[str] = []
        while True:
            with translated():
                answer = self._client.query(**asked)
            found += [row["operation"]["S"] for row in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                return found
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def seats(self, tenant: str) -> Seats:
        row = self._get(of_tenant(tenant), _SEATS)
        if row is None:
            return Seats(tenant=tenant)
        return Seats(
            tenant=tenant,
            taken=tuple(
                Seat(operation=id, version=version, at=instants.from_milliseconds(at))
                for id, version, at in json.loads(row["taken"]["S"])
            ),
            version=int(row["version"]["N"]),
        )

    def change_seats(self, after: Seats) -> bool:
        taken = [[each.operation, each.version, instants.milliseconds(each.at)] for each in after.taken]
        texts = {"operation": of_tenant(after.tenant), "place": _SEATS, "taken": compact(taken)}
        return self._put(typed(texts, {"version": after.version}), before=after.version - 1)

    def _get(self, operation: str, place: str) -> AttributeMap | None:
        with translated():
            answer = self._client.get_item(
                TableName=self._table,
                Key={"operation": {"S": operation}, "place": {"S": place}},
                ConsistentRead=True,
            )
        row: AttributeMap | None = answer.get("Item")
        return row

    def _put(self, row: AttributeMap, *, before: int) -> bool:
        """Writes the row over the version before, or in an empty place. A row that is stored already, as after an
        answer that got lost, counts as written."""
        try:
            with translated():
                self._client.put_item(
                    TableName=self._table,
                    Item=row,
                    ConditionExpression="#version = :before" if before else "attribute_not_exists(place)",
                    **(
                        {
                            "ExpressionAttributeNames": {"#version": "version"},
                            "ExpressionAttributeValues": {":before": {"N": str(before)}},
                        }
                        if before
                        else {}
                    ),
                )
        except self._client.exceptions.ConditionalCheckFailedException:
            return self._get(row["operation"]["S"], row["place"]["S"]) == row
        return True
