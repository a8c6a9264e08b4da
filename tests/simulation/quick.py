"""Caches that make runs quick and leave each of them as it is, to the byte. The libraries compute some values anew for
each call, although these follow from the call's text alone, and write JSON only to read it again.
"""

import json
import marshal
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

import ministack.services._dynamodb_keywords as statements
import ministack.services.dynamodb as dynamodb
import pynamodb.attributes
import pynamodb.connection.base

from cli.local.engine import quickened
from tests.simulation.conditions import condition

# They look at a request's form and change nothing. The forms that our stores send do not differ from run to run, and
# the stores' own tests have them looked at by the engine as it is.
_FORMS: Final = (
    "_check_per_op_param_enums",
    "_key_condition_operand_error",
    "_partiql_parameter_error",
    "_projection_overlap_response",
    "_single_write_request_error",
    "_transact_write_action_error",
    "_transact_write_members_error",
    "_validate_data_plane_table_name",
    "_validate_expression_attrs",
    "_validate_projection_expression_syntax",
    "_values_error_response",
)


def copied(value: Any) -> Any:
    """Copies what JSON can write, for a caller that may change it."""
    try:
        return marshal.loads(marshal.dumps(value, 2))  # noqa: S302 - our own
    except ValueError:  # a type of its own among them, such as an enum
        return json.loads(json.dumps(value))


class Unwritten:
    """Stands for a text of JSON that nobody will look at."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def encode(self, encoding: str = "") -> "Unwritten":
        return self

    def __len__(self) -> int:
        """No request of a run comes near what a request may have."""
        return 0


def read(body: Any) -> Any:
    """The body of an answer, for its caller."""
    return copied(body.value) if isinstance(body, Unwritten) else json.loads(body)


def engine() -> None:
    """Puts it into the engine's modules, once."""
    for name in _FORMS:
        if not hasattr(dynamodb, name):
            raise LookupError(name)
        setattr(dynamodb, name, lambda *given, **named: None)
    dynamodb.json = SimpleNamespace(dumps=_unwritten, loads=read)
    dynamodb.json_response = lambda data, status=200: (status, {}, Unwritten(data))
    quickened()
    statements._tokenize = _kept(statements._tokenize)
    dynamodb._parse_partiql = _Last(dynamodb._parse_partiql)
    evaluated = dynamodb._evaluate_condition

    def evaluate(
        expression: str, row: Any, values: Any, names: Any, slot: str = "ConditionExpression"
    ) -> Any:
        known = condition(expression) if expression else None
        if known is None:
            return evaluated(expression, row, values, names, slot=slot)
        return known(row, values, names)

    dynamodb._evaluate_condition = evaluate
    # No row of a run comes near what a row may have.
    dynamodb._item_size_bytes = lambda row: 0
    dynamodb.copy = SimpleNamespace(deepcopy=copied)


def models(drawn_bytes: Callable[[int], bytes]) -> None:
    """Puts it into pynamodb, once. It names each call for listeners, and there are none."""
    pynamodb.connection.base.uuid = SimpleNamespace(uuid4=lambda: drawn_bytes(16))
    pynamodb.connection.base.Connection.send_pre_boto_callback = lambda *given: None
    pynamodb.connection.base.Connection.send_post_boto_callback = lambda *given: None
    pynamodb.attributes.NumberAttribute.deserialize = lambda self, text: _number(text)
    pynamodb.attributes.AttributeContainer._container_deserialize = _deserialise


class _Last:
    """The engine reads each statement of a batch twice, one time after the other."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._given: tuple[Any, Any] = (None, None)
        self._found: Any = None

    def __call__(self, statement: Any, parameters: Any) -> Any:
        if self._given[0] is not statement or self._given[1] is not parameters:
            self._found = self._function(statement, parameters)
            self._given = statement, parameters
        return self._found


def _kept(function: Callable[..., list[Any]]) -> Any:
    """Keeps the engine's reading of a statement, which follows from its text."""
    known = cache(function)
    return lambda *given, **named: list(known(*given, **named))


def _unwritten(value: Any, **how: Any) -> Any:
    return json.dumps(value, **how) if how.keys() - {"ensure_ascii"} else Unwritten(value)


def _number(text: str) -> Any:
    return int(text) if text.isdecimal() else json.loads(text)


def _deserialise(model: Any, attribute_values: Mapping[str, Mapping[str, Any]]) -> None:
    """Reads rows of models with single values and no defaults as pynamodb does, and leaves all other models to
    pynamodb."""
    attributes = _plain_attributes(type(model))
    if attributes is None:
        _ORIGINAL_DESERIALISE(model, attribute_values)
        return
    found = model.attribute_values = {}
    for name, stored_as, attribute in attributes:
        value = attribute_values.get(stored_as)
        if value and "NULL" not in value:
            found[name] = attribute.deserialize(attribute.get_value(value))


_ORIGINAL_DESERIALISE: Final = pynamodb.attributes.AttributeContainer._container_deserialize


@cache
def _plain_attributes(model: Any) -> tuple[tuple[str, str, Any], ...] | None:
    attributes = model.get_attributes()
    plain = model._discriminator is None and all(
        each.default is None
        and not isinstance(each, pynamodb.attributes.MapAttribute | pynamodb.attributes.ListAttribute)
        for each in attributes.values()
    )
    return tuple((name, each.attr_name, each) for name, each in attributes.items()) if plain else None
