"""What the local engine leaves out of an answer, put in as AWS does it.

A cancelled transaction of statements comes back without the row that stood in the way, however it was asked for by
ReturnValuesOnConditionCheckFailure. AWS sends it along, and a store knows its own change by it.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import boto3

_TABLE: Final = re.compile(r'UPDATE "([^"]+)"')
_NAMES: Final = re.compile(r'"(\w+)"=\?')
_KEY: Final = frozenset({"slot", "id"})


def worded(
    asked: Mapping[str, Any], endpoint: str, answer: dict[str, Any], *, rowless: bool
) -> dict[str, Any]:
    """The answer to statements, with the rows that refuse them; or without any, which AWS does as well."""
    reasons = answer.get("CancellationReasons", ())
    for statement, reason in zip(asked.get("TransactStatements", ()), reasons, strict=False):
        if reason["Code"].startswith("ConditionalCheckFailed") and _wants_row(statement):
            reason |= {"Item": row} if (row := _row(statement, endpoint)) else {}
    if rowless:
        for refusal in (*reasons, *(each.get("Error", {}) for each in answer.get("Responses", ()))):
            refusal.pop("Item", None)
    return answer


def _wants_row(statement: Mapping[str, Any]) -> bool:
    return statement.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"


def _row(statement: Mapping[str, Any], endpoint: str) -> dict[str, Any] | None:
    text, given = statement["Statement"], statement["Parameters"]
    conditions = _NAMES.findall(text.partition(" WHERE ")[2])
    key = {
        name: value for name, value in zip(conditions, given[-len(conditions) :], strict=True) if name in _KEY
    }
    found: dict[str, Any] | None = (
        _client(endpoint)
        .get_item(TableName=_TABLE.findall(text)[0], Key=key, ConsistentRead=True)
        .get("Item")
    )
    return found


@cache
def _client(endpoint: str) -> Any:
    return boto3.client("dynamodb", endpoint_url=endpoint)
