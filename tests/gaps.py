"""Answers of the local engine, made what AWS answers.

A statement that is refused comes back with the row that stands in its way, if it was asked for by
ReturnValuesOnConditionCheckFailure: the engine leaves it out of a cancelled transaction. And BatchGetItem reads no more
than 16 MB, and 1 MB of one partition.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests import partiql, tables

# The row of a table under this key.
Find = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]
_ANSWER_BYTES_MAX: Final = 16 * 1024 * 1024
_PARTITION_BYTES_MAX: Final = 1024 * 1024


def worded(asked: Mapping[str, Any], answer: dict[str, Any], find: Find, *, rowless: bool) -> dict[str, Any]:
    """The answer to writes, with the rows that refuse statements; or without any rows, which AWS does as well."""
    reasons = answer.get("CancellationReasons", ())
    for statement, reason in zip(asked.get("TransactStatements", ()), reasons, strict=False):
        wants = statement.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        if wants and reason["Code"].startswith("ConditionalCheckFailed") and "Item" not in reason:
            given = partiql.named(statement)
            row = find(partiql.table_of(statement), {name: given[name] for name in tables.KEYS["items"]})
            reason |= {"Item": row} if row else {}
    if rowless:
        for refusal in (*reasons, *(each.get("Error", {}) for each in answer.get("Responses", ()))):
            refusal.pop("Item", None)
    return answer


def read_in_part(asked: Mapping[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """The answer to BatchGetItem, with the keys of what is too much left unread."""
    whole, partitions = 0, dict[str, int]()
    for table, rows in answer.get("Responses", {}).items():
        wanted = asked["RequestItems"][table]
        read, left = [], []
        for row in rows:
            key = next(key for key in wanted["Keys"] if key.items() <= row.items())
            partition = f"{table} {next(iter(key.values()))}"
            size = len(json.dumps(row, ensure_ascii=False).encode())
            before = partitions.get(partition, 0)
            if whole + size > _ANSWER_BYTES_MAX or (before and before + size > _PARTITION_BYTES_MAX):
                left.append(key)
                continue
            whole, partitions[partition] = whole + size, before + size
            read.append(row)
        answer["Responses"][table] = read
        if left:
            answer.setdefault("UnprocessedKeys", {})[table] = {**wanted, "Keys": left}
    return answer
