"""Reads a condition of DynamoDB once, as a function of a row."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

import ministack.services.dynamodb as dynamodb

Condition = Callable[[Any, Mapping[str, Any], Mapping[str, str]], bool]
Operand = Callable[[Any, Mapping[str, Any], Mapping[str, str]], Any]

_OPERATORS: Final = frozenset({"EQ", "NE", "LT", "GT", "LE", "GE"})


@cache
def condition(expression: str) -> Condition | None:
    """An expression of comparisons, BETWEEN and the functions on existence, with AND and OR, read once; of any other
    form, and of one that the engine would refuse, None: that is left to the engine."""
    try:
        tokens = dynamodb._tokenize(expression)
        wrong = dynamodb._check_redundant_parens(tokens) or dynamodb._check_reserved_keyword_usage(tokens)
        if wrong or dynamodb._condition_syntax_error(expression, "ConditionExpression"):
            return None
        reader = _Reader(tokens)
        found = reader.either()
        return found if reader.kind == "EOF" else None
    except _Unknown:
        return None


class _Unknown(Exception):
    pass


class _Reader:
    """Returns the tokens of one expression."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._place = 0

    @property
    def kind(self) -> str:
        return self._tokens[self._place][0]

    @property
    def word(self) -> str:
        kind, text = self._tokens[self._place]
        return text.upper() if kind == "IDENT" else ""

    def either(self) -> Condition:
        found = self._both()
        while self.word == "OR":
            self._take()
            found = _or(found, self._both())
        return found

    def _both(self) -> Condition:
        found = self._single()
        while self.word == "AND":
            self._take()
            found = _and(found, self._single())
        return found

    def _single(self) -> Condition:
        if self.kind == "LPAREN":
            self._take()
            found = self.either()
            self._take("RPAREN")
            return found
        if self.word in ("ATTRIBUTE_EXISTS", "ATTRIBUTE_NOT_EXISTS"):
            wanted = self._take() == "attribute_exists"
            self._take("LPAREN")
            found = _exists(self._operand(), wanted)
            self._take("RPAREN")
            return found
        left = self._operand()
        if self.word == "BETWEEN":
            return self._between(left)
        if self.kind not in _OPERATORS:
            raise _Unknown
        return _compared(left, self._take(), self._operand())

    def _between(self, value: Operand) -> Condition:
        self._take()
        low = self._operand()
        if self.word != "AND":
            raise _Unknown
        self._take()
        high = self._operand()
        return _and(_compared(low, "<=", value), _compared(value, "<=", high))

    def _operand(self) -> Operand:
        """A value, or an attribute of the row itself."""
        kind, text = self.kind, self._take()
        if self.kind in ("DOT", "LBRACKET", "LPAREN"):
            raise _Unknown
        match kind:
            case "VALUE_REF":
                return lambda row, values, names: values.get(text)
            case "NAME_REF":
                return lambda row, values, names: row.get(names.get(text, text)) if row else None
            case "IDENT":
                return lambda row, values, names: row.get(text) if row else None
            case _:
                raise _Unknown

    def _take(self, kind: str | None = None) -> str:
        found, text = self._tokens[self._place]
        if kind not in (None, found):
            raise _Unknown
        self._place += 1
        return text


def _or(left: Condition, right: Condition) -> Condition:
    return lambda row, values, names: left(row, values, names) or right(row, values, names)


def _and(left: Condition, right: Condition) -> Condition:
    return lambda row, values, names: left(row, values, names) and right(row, values, names)


def _exists(operand: Operand, wanted: bool) -> Condition:
    return lambda row, values, names: (operand(row, values, names) is not None) is wanted


def _compared(left: Operand, operator: str, right: Operand) -> Condition:
    compare = dynamodb._compare_ddb

    def holds(row: Any, values: Mapping[str, Any], names: Mapping[str, str]) -> bool:
        one, other = left(row, values, names), right(row, values, names)
        if one and other and "S" in one and "S" in other:
            return bool(_TEXTS[operator](one["S"], other["S"]))
        return bool(compare(one, operator, other))

    return holds


_TEXTS: Final[dict[str, Callable[[str, str], bool]]] = {
    "=": str.__eq__,
    "<>": str.__ne__,
    "<": str.__lt__,
    ">": str.__gt__,
    "<=": str.__le__,
    ">=": str.__ge__,
}
