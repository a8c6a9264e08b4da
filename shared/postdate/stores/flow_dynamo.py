"""Flow in DynamoDB: one row for each timeline, room, key that was set, and breaker, changed by one update each.

A row expires some time after its last change: a missing row means an empty timeline, an empty room or a closed breaker.
A timeline of a rate is kept for 400 days, because its places may lie far ahead. Settings that a tenant made of a flow
key do not expire.
"""

from typing import Final

from postdate.stores.breakers_dynamo import OPEN, DynamoBreakers
from postdate.stores.counters_dynamo import DynamoCounters
from postdate.stores.faults import translated
from postdate.stores.flow import Circuit, Key
from postdate.stores.flow_keys_dynamo import PAUSED, DynamoFlowKeys
from postdate.stores.flow_table import BREAKER, KEY
from postdate.stores.rooms_dynamo import DynamoRooms
from postdate.stores.timelines_dynamo import DynamoTimelines

_BY_ATTENTION: Final = "by_attention"


class DynamoFlow(DynamoTimelines, DynamoRooms, DynamoFlowKeys, DynamoBreakers, DynamoCounters):
    def needing_attention(self, *, limit: int, tenant: str | None = None) -> tuple[list[Circuit], list[Key]]:
        return self._attended(OPEN, BREAKER, limit, tenant), self._attended(PAUSED, KEY, limit, tenant)

    def _attended(self, attention: str, prefix: str, limit: int, tenant: str | None) -> list[tuple[str, str]]:
        """The rows of the index of open breakers and paused keys, with the prefix of their names removed."""
        of_one = {} if tenant is None else {":tenant": {"S": tenant}}
        with translated():
            page = self._client.query(
                TableName=self._table,
                IndexName=_BY_ATTENTION,
                KeyConditionExpression="attention = :attention" + (" AND tenant = :tenant" if of_one else ""),
                ExpressionAttributeValues={":attention": {"S": attention}, **of_one},
                Limit=limit,
            )
        return [(row["tenant"]["S"], row["name"]["S"].removeprefix(prefix)) for row in page["Items"]]
