"""What AWS refuses and the local engine takes: a request as a whole, because of its form."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from tests import partiql, tables

Row = Mapping[str, Mapping[str, Any]]
Touched = tuple[str, tuple[str, ...]]
_AT_MOST: Final = {"Statements": 25, "TransactStatements": 100, "TransactItems": 100, "Keys": 100}
_DIGITS_MAX: Final = 38
_EXPRESSION_BYTES_MAX: Final = 4096
_STATEMENT_LENGTH_MAX: Final = 8192
_EXPRESSIONS: Final = (
    "ConditionExpression",
    "KeyConditionExpression",
    "ProjectionExpression",
    "UpdateExpression",
)
_KEY_NAMES: Final = {
    table: frozenset({*keys, *(name for index in tables.INDEXES.get(table, {}).values() for name in index)})
    for table, keys in tables.KEYS.items()
}


def refusal(asked: Mapping[str, Any]) -> str | None:
    """Why AWS would not look at this request to DynamoDB, in words like its own."""
    parts = list(_parts(asked))
    for name, most in _AT_MOST.items():
        if sum(len(each[name]) for each in (asked, *parts) if name in each) > most:
            return f"Member must have length less than or equal to {most}: {name}"
    touched = [row for part in parts for row in _rows_of(part)]
    if len(set(touched)) < len(touched):
        return "Provided list of item keys contains duplicates"
    if len({_reads(part) for part in parts if "Statement" in part}) > 1:
        return "Statements must be either all reads or all writes"
    return next((why for part in parts for why in _faults(part)), None)


def _parts(asked: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What each row is asked for; a request for one row is its own part."""
    match asked:
        case {"Statements": list(parts)} | {"TransactStatements": list(parts)}:
            yield from parts
        case {"TransactItems": list(actions)}:
            for action in actions:
                yield from action.values()
        case {"RequestItems": dict(by_table)}:
            for table, wanted in by_table.items():
                yield {"TableName": table, **wanted}
        case _:
            yield asked


def _rows_of(part: Mapping[str, Any]) -> Iterator[Touched]:
    if "Statement" in part:
        yield _touched(partiql.table_of(part), partiql.named(part))
    elif row := part.get("Item") or part.get("Key"):
        yield _touched(part["TableName"], row)
    for key in part.get("Keys", ()):
        yield _touched(part["TableName"], key)


def _touched(table: str, row: Row) -> Touched:
    return table, tuple(str(row[name]) for name in tables.KEYS[_name(table)])


def _name(table: str) -> str:
    """Tests make their tables under prefixes of their own, and restored ones have an ending besides."""
    return next(part for part in reversed(table.split("-")) if part in tables.KEYS)


def _reads(statement: Mapping[str, Any]) -> bool:
    return str(statement["Statement"]).startswith("SELECT")


def _faults(part: Mapping[str, Any]) -> Iterator[str]:
    for name in _EXPRESSIONS:
        if len(str(part.get(name, "")).encode()) > _EXPRESSION_BYTES_MAX:
            yield f"Expression size has exceeded the maximum allowed size: {name}"
    if len(str(part.get("Statement", ""))) > _STATEMENT_LENGTH_MAX:
        yield "Statement length exceeds 8192"
    for number in _numbers(part):
        if len(Decimal(number).normalize().as_tuple().digits) > _DIGITS_MAX:
            yield "Attempting to store more than 38 significant digits in a Number"
    for name in _empty_keys(part):
        yield f"The AttributeValue for a key attribute cannot contain an empty string value. Key: {name}"


def _numbers(value: Any) -> Iterator[str]:
    match value:
        case {"N": str(number), **others} if not others:
            yield number
        case {"NS": list(numbers), **others} if not others:
            yield from numbers
        case dict():
            for each in value.values():
                yield from _numbers(each)
        case list():
            for each in value:
                yield from _numbers(each)


def _empty_keys(part: Mapping[str, Any]) -> Iterator[str]:
    pairs: Sequence[tuple[str, Any]] = ()
    if "Statement" in part:
        table, pairs = partiql.table_of(part), partiql.pairs(part)
    else:
        table = part.get("TableName", "")
        pairs = [*part.get("Item", {}).items(), *part.get("Key", {}).items()]
        pairs += [pair for key in part.get("Keys", ()) for pair in key.items()]
    keys = _KEY_NAMES[_name(table)] if table else frozenset()
    yield from (name for name, value in pairs if name in keys and value in ({"S": ""}, {"B": ""}))
    condition = part.get("KeyConditionExpression", "").replace("(", " ").replace(")", " ").replace(",", " ")
    given = part.get("ExpressionAttributeValues", {})
    yield from (word for word in condition.split() if given.get(word) in ({"S": ""}, {"B": ""}))
