"""Computes metric math: the functions and operators that the table of alarms uses."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Final

_MINUTE: Final = 60
# The begin of a period, among the values of its series. No series has this name.
_START: Final = "@start"
_OPERATIONS: Final[Mapping[type[ast.AST], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


def computed(expression: str, values: Mapping[str, float | None], *, start: float = 0) -> float | None:
    """The expression's value in the period that begins at `start`. A period has none if a series that is not filled has
    none there, and none where the expression divides by 0."""
    parsed = ast.parse(expression, mode="eval")
    known = {name: value for name, value in values.items() if value is not None}
    filled = {
        node.args[0].id
        for node in ast.walk(parsed)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "FILL"
        and isinstance(node.args[0], ast.Name)
    }
    if values.keys() - known.keys() - filled:
        return None
    try:
        return _value(parsed.body, known | {_START: start})
    except ZeroDivisionError:
        return None


def _value(node: ast.expr, known: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id=name):
            return known[name]
        case ast.Call(func=ast.Name(id="FILL"), args=[ast.Name(id=name), filling]):
            return known[name] if name in known else _value(filling, known)
        case ast.Call(func=ast.Name(id="MINUTE"), args=[ast.Name()]):
            return known[_START] // _MINUTE % _MINUTE
        case ast.Call(func=ast.Name(id="FLOOR"), args=[part]):
            return math.floor(_value(part, known))
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATIONS[type(op)](_value(left, known), _value(right, known))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return float(_OPERATIONS[type(op)](_value(left, known), _value(right, known)))
        case ast.Call(func=ast.Name(id="IF"), args=[condition, then, otherwise]):
            return _value(then if _value(condition, known) else otherwise, known)
    raise ValueError(f"the expression uses what the evaluator does not know: {ast.unparse(node)}")
