"""Requests that AWS refuses because of their form, and the local engine takes.

Almost all of them are statements: the engine looks at the forms of its other calls as AWS does. Amazon's own engine
refuses each of these as well, and the contract tests ask it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from typing import Any, Final, TypeAlias

from tests import partiql, tables

Asked: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]
_KEYS_MAX: Final = 100
_DIGITS_MAX: Final = 38
_STATEMENT_LENGTH_MAX: Final = 8192
_EMPTY: Final = ({"S": ""}, {"B": ""})
_KEY_NAMES: Final = {
    table: frozenset({*keys, *(name for index in tables.INDEXES.get(table, {}).values() for name in index)})
    for table, keys in tables.KEYS.items()
}


def refusal(asked: Asked) -> str | None:
    """AWS's reason to refuse the whole request to DynamoDB, in words like its own."""
    match asked:
        case {"Statements": list(statements)}:
            return next(_faults(statements), None)
        case {"TransactStatements": list(statements)}:
            return next(chain(_faults(statements), filter(None, map(_empty_key, statements))), None)
        case {"RequestItems": dict(by_table)} if _keys(by_table) > _KEYS_MAX:
            return "Too many items requested for the BatchGetItem call"
    return None


def in_part(asked: Asked, carry_out: Callable[[Asked], Answer]) -> Answer | None:
    """The answer to a batch of statements of which AWS refuses some alone; None if it refuses none."""
    statements = asked.get("Statements", ())
    errors = [_empty_key(statement) for statement in statements]
    if not any(errors):
        return None
    kept = [statement for statement, error in zip(statements, errors, strict=True) if not error]
    answer = carry_out({**asked, "Statements": kept}) if kept else {"Responses": []}
    if "Responses" not in answer:
        return answer
    made = iter(answer["Responses"])
    refused = (
        {"Error": {"Code": "ValidationError", "Message": error}} if error else None for error in errors
    )
    answer["Responses"] = [each or next(made) for each in refused]
    return answer


def _faults(statements: Sequence[Asked]) -> Iterator[str]:
    if any(len(each["Statement"]) > _STATEMENT_LENGTH_MAX for each in statements):
        yield f"Member must have length less than or equal to {_STATEMENT_LENGTH_MAX}"
    if any(count > 1 for count in Counter(map(_touched, statements)).values()):
        yield "One request cannot include multiple operations on one item"
    if len({each["Statement"].startswith("SELECT") for each in statements}) > 1:
        yield "One request cannot include both reads and writes"
    numbers = (number for each in statements for number in _numbers(each.get("Parameters", ())))
    if any(_digits(number) > _DIGITS_MAX for number in numbers):
        yield f"DynamoDB only supports precision up to {_DIGITS_MAX} digits"


def _touched(statement: Asked) -> tuple[str, ...]:
    table, row = partiql.table_of(statement), partiql.named(statement)
    return table, *(str(row[name]) for name in tables.KEYS[_name(table)])


def _name(table: str) -> str:
    """Tests make their tables under prefixes of their own, and restored ones have an ending besides."""
    return next(part for part in reversed(table.split("-")) if part in tables.KEYS)


def _numbers(value: Any) -> Iterator[str]:
    match value:
        case {"N": str(number)}:
            yield number
        case {"NS": list(numbers)}:
            yield from numbers
        case {"L": list(values)} | {"M": dict(values)}:
            yield from _numbers(values)
        case list():
            for each in value:
                yield from _numbers(each)
        case dict():
            for each in value.values():
                yield from _numbers(each)


def _digits(number: str) -> int:
    """Significant ones. A number that is none is refused by the engine itself."""
    if len(number) <= _DIGITS_MAX:
        return 0
    return len("".join(map(str, Decimal(number).as_tuple().digits)).strip("0"))


def _empty_key(statement: Asked) -> str | None:
    names = _KEY_NAMES[_name(partiql.table_of(statement))]
    empty = (name for name, value in partiql.pairs(statement) if name in names and value in _EMPTY)
    return next((f"The value for a key attribute cannot be empty. Key: {name}" for name in empty), None)


def _keys(by_table: Mapping[str, Any]) -> int:
    return sum(len(wanted["Keys"]) for wanted in by_table.values() if "Keys" in wanted)
