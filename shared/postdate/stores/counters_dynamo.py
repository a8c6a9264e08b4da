"""Numbered counters in DynamoDB: one row for each name, one attribute for each number."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from postdate.stores.attributes import AttributeMap
from postdate.stores.faults import translated
from postdate.stores.flow_table import FlowTable, expiry, number_value, row_key

_COUNTERS: Final = "counters#"
_COUNTER: Final = re.compile(r"n([0-9]+)")
# Of a tenant that registered nothing for a year nothing is counted.
_COUNTERS_KEPT: Final = timedelta(days=410)
_FORGOTTEN_AT_ONCE: Final = 8


class DynamoCounters(FlowTable):
    def add(
        self, tenant: str, name: str, counts: Mapping[int, int], *, since: int, now: datetime
    ) -> Mapping[int, int]:
        # The numbers that left the span lately are removed with each addition, so the row does not grow.
        forgotten = [_counter(number) for number in range(since - _FORGOTTEN_AT_ONCE, since)]
        added = [_counter(number) for number in counts]
        names = {f"#{each}": each for each in (*forgotten, *added)}
        with translated():
            answer = self._client.update_item(
                TableName=self._table,
                Key=row_key(tenant, _COUNTERS + name),
                UpdateExpression="SET #expires = :expires"
                f" ADD {', '.join(f'#{each} :{each}' for each in added)}"
                f" REMOVE {', '.join(f'#{each}' for each in forgotten)}",
                ExpressionAttributeNames={"#expires": "expires_at", **names},
                ExpressionAttributeValues={
                    ":expires": expiry(now, _COUNTERS_KEPT),
                    **{f":{_counter(number)}": number_value(count) for number, count in counts.items()},
                },
                ReturnValues="ALL_NEW",
            )
        return _counters(answer["Attributes"], since)

    def counts(self, tenant: str, name: str, *, since: int) -> Mapping[int, int]:
        with translated():
            answer = self._client.get_item(TableName=self._table, Key=row_key(tenant, _COUNTERS + name))
        return _counters(answer.get("Item", {}), since)


def _counter(number: int) -> str:
    return f"n{number}"


def _counters(row: AttributeMap, since: int) -> dict[int, int]:
    found = {
        int(match[1]): int(value["N"]) for name, value in row.items() if (match := _COUNTER.fullmatch(name))
    }
    return {number: count for number, count in found.items() if number >= since}
