"""Subscriptions in DynamoDB."""

import json
from typing import TYPE_CHECKING, Any

from postdate.domain import instants
from postdate.domain.errors import Unreadable
from postdate.domain.subscription import ENDED_KEPT, Filter, State, Subscription
from postdate.stores.attributes import AttributeMap, compact, instant, milliseconds, typed
from postdate.stores.faults import translated
from postdate.stores.rows import readable
from postdate.stores.template_values import destination_of, destination_values

if TYPE_CHECKING:
    from botocore.client import BaseClient


class DynamoSubscriptions:
    def __init__(self, *, table: str, client: "BaseClient") -> None:
        self._table = table
        self._client = client

    def get(self, tenant: str, id: str) -> Subscription | None:
        with translated():
            row = self._client.get_item(
                TableName=self._table,
                Key={"tenant": {"S": tenant}, "id": {"S": id}},
                ConsistentRead=True,
            ).get("Item")
        if row is None:
            return None
        for found in readable([row], subscription_of):
            return found
        raise Unreadable(f"{id} was written by newer code")

    def all(self, tenant: str) -> list[Subscription]:
        """A row that newer code alone can read raises Unreadable: its deliveries are not to be left out."""
        asked: dict[str, Any] = {
            "TableName": self._table,
            "KeyConditionExpression": "tenant = :tenant",
            "ExpressionAttributeValues": {":tenant": {"S": tenant}},
            "ConsistentRead": True,
        }
        rows: list[AttributeMap] = []
        while True:
            with translated():
                answer = self._client.query(**asked)
            rows += answer["Items"]
            if "LastEvaluatedKey" not in answer:
                break
            asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        found = list(readable(rows, subscription_of))
        if len(found) < len(rows):
            raise Unreadable("a subscription was written by newer code")
        return found

    def add(self, subscription: Subscription) -> bool:
        return self._put(subscription, "attribute_not_exists(id)", {})

    def change(self, after: Subscription) -> bool:
        return self._put(after, "version = :before", {":before": {"N": str(after.version - 1)}})

    def _put(self, subscription: Subscription, condition: str, values: AttributeMap) -> bool:
        """A row that is stored already, as after an answer that got lost, counts as written."""
        named: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
        try:
            with translated():
                self._client.put_item(
                    TableName=self._table,
                    Item=attributes_of(subscription),
                    ConditionExpression=condition,
                    **named,
                )
        except self._client.exceptions.ConditionalCheckFailedException:
            return self.get(subscription.tenant, subscription.id) == subscription
        return True


def attributes_of(given: Subscription) -> AttributeMap:
    asked = {
        "account": given.filter.account_id,
        "tag": given.filter.tag,
        "metadata": dict(given.filter.metadata) or None,
    }
    wanted = {name: value for name, value in asked.items() if value is not None}
    ended = given.state is State.ENDED
    texts = {
        "tenant": given.tenant,
        "id": given.id,
        "name": given.id,
        "target": compact(destination_values(given.destination)),
        "types": compact(given.types),
        "filter": compact(wanted) if wanted else None,
        "ordered": None if given.ordered else "no",
        "description": given.description,
        "status": given.state.value,
        "reason": given.reason,
        "secrets": compact(given.secrets),
        "by": given.by or None,
    }
    numbers = {
        "version": given.version,
        "created": instants.milliseconds(given.created_at),
        "changed": instants.milliseconds(given.changed_at),
        "paused": milliseconds(given.paused_at),
        "missed": milliseconds(given.missed_since),
        "secrets_until": milliseconds(given.secrets_until),
        # An ended subscription can be looked up for a while.
        "expires_at": int((given.changed_at + ENDED_KEPT).timestamp()) if ended else None,
    }
    return typed(texts, numbers)


def subscription_of(row: AttributeMap) -> Subscription:
    asked = json.loads(_text(row, "filter") or "{}")
    return Subscription(
        id=row["id"]["S"],
        tenant=row["tenant"]["S"],
        destination=destination_of(json.loads(row["target"]["S"])),
        types=tuple(json.loads(row["types"]["S"])),
        filter=Filter(
            account_id=asked.get("account"),
            tag=asked.get("tag"),
            metadata=tuple(asked.get("metadata", {}).items()),
        ),
        ordered=_text(row, "ordered") != "no",
        description=_text(row, "description"),
        state=State(row["status"]["S"]),
        reason=_text(row, "reason"),
        secrets=tuple(json.loads(row["secrets"]["S"])),
        secrets_until=instant(_number(row, "secrets_until")),
        version=int(row["version"]["N"]),
        created_at=instants.from_milliseconds(int(row["created"]["N"])),
        changed_at=instants.from_milliseconds(int(row["changed"]["N"])),
        paused_at=instant(_number(row, "paused")),
        missed_since=instant(_number(row, "missed")),
        by=_text(row, "by") or "",
    )


def _text(row: AttributeMap, name: str) -> str | None:
    return row[name]["S"] if name in row else None


def _number(row: AttributeMap, name: str) -> int | None:
    return int(row[name]["N"]) if name in row else None
