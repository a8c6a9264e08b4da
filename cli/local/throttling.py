"""Tables that are throttled on demand, loaded into the engine itself: the engine has no limits of its own.

The tag `throttled` of a table turns it on: its writes are answered as DynamoDB answers them beyond the throughput of a
table, and counted in the metric of the table, until the tag is removed. Tags can be set from outside.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from ministack.services import cloudwatch, dynamodb

TAG: Final = "throttled"
METRIC: Final = "WriteThrottleEvents"
_CODE: Final = "ThrottlingException"
_WORDS: Final = "Throughput exceeds the current capacity of your table or index."
_WRITES: Final = (
    *("_put_item", "_update_item", "_delete_item", "_batch_write_item", "_transact_write_items"),
    *("_execute_statement", "_execute_transaction"),
)
_TAGGED: Final = {"_tag_resource": True, "_untag_resource": False}
_throttled: set[str] = set()
_counted: list[tuple[str, float]] = []


def patched() -> None:
    for name in _WRITES:
        setattr(dynamodb, name, _refusing(getattr(dynamodb, name), lambda data: _refused()))
    batch = dynamodb._batch_execute_statement
    dynamodb._batch_execute_statement = _refusing(batch, _each_refused)
    for name, adds in _TAGGED.items():
        setattr(dynamodb, name, _following(getattr(dynamodb, name), adds))


def drained() -> list[tuple[str, float]]:
    """The throttled requests since the last look: their tables and instants."""
    found = _counted.copy()
    del _counted[: len(found)]
    return found


def _following(change: Callable[[Any], Any], adds: bool) -> Callable[[Any], Any]:
    def changed(data: Any) -> Any:
        answer = change(data)
        names = data.get("TagKeys", []) + [tag["Key"] for tag in data.get("Tags", ())]
        if answer[0] == 200 and TAG in names:
            table = data["ResourceArn"].rpartition("/")[2]
            (_throttled.add if adds else _throttled.discard)(table)
        return answer

    return changed


def _refusing(write: Callable[[Any], Any], refused: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def written(data: Any) -> Any:
        table = next((name for name in _throttled if name in _named(data)), None) if _throttled else None
        if table is None:
            return write(data)
        now = time.time()
        _counted.append((table, now))
        cloudwatch._store_datum(
            "AWS/DynamoDB", METRIC, {"TableName": table}, now, "Count", 1.0, None, None, None
        )
        return refused(data)

    return written


def _named(data: Any) -> set[str]:
    """The tables that a request names; of PartiQL, all that stands in quotes."""
    return set(_names(data))


def _names(data: Any) -> Iterator[str]:
    yield data.get("TableName", "")
    yield from data.get("RequestItems", {})
    for action in data.get("TransactItems", ()):
        yield from (given["TableName"] for given in action.values())
    for statement in (data, *data.get("Statements", ()), *data.get("TransactStatements", ())):
        yield from statement.get("Statement", "").split('"')[1::2]


def _refused() -> Any:
    return dynamodb.error_response_json(_CODE, _WORDS, 400)


def _each_refused(data: Any) -> Any:
    error = {"Error": {"Code": "ThrottlingError", "Message": _WORDS}}
    return dynamodb.json_response({"Responses": [error for _ in data["Statements"]]})
