"""Parameters: values that operators change while the service runs, without a deployment.

This one description makes the defaults, the schema that a document is checked against, and docs/parameters.md. A
document names only the parameters that differ from their defaults. The bounds are those that the code is built for, so
no document can loosen a promise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Final, TypeVar, cast

SectionT = TypeVar("SectionT")
_INT: Final = "integer"


class DocumentInvalid(ValueError):
    """This code cannot use a document: a value is of another type or out of bounds."""


def bounded(usual: int, *, least: int, most: int, meaning: str) -> Any:
    """A field of a whole number with its default, its bounds and its line of documentation."""
    return field(default=usual, metadata={"kind": _INT, "least": least, "most": most, "meaning": meaning})


@dataclass(frozen=True, kw_only=True, slots=True)
class Registering:
    """Limits of requests that register payments, tasks and jobs. Items that were registered before keep theirs."""

    batch_max: int = bounded(100, least=1, most=100, meaning="Payments or tasks that one batch may register.")
    days_ahead_max: int = bounded(
        365,
        least=1,
        most=365,
        meaning="Days from the registration to the instant of a payment or of a one-time task.",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    registering: Registering = field(default_factory=Registering)


DEFAULTS: Final = Parameters()


def read(document: object) -> Parameters:
    """Parameters of a document. Raises DocumentInvalid.

    Names that this code does not know are passed over: a newer release may have written them. A document is checked
    for unknown names before it goes out.
    """
    return _section(Parameters, document, "")


def _section(kind: type[SectionT], given: object, path: str) -> SectionT:
    if not isinstance(given, Mapping):
        raise DocumentInvalid(f"{path or 'the document'} is not an object")
    values: dict[str, Any] = {}
    for each in fields(cast(Any, kind)):
        if each.name not in given:
            continue
        inside = f"{path}.{each.name}".removeprefix(".")
        if is_dataclass(each.type):
            values[each.name] = _section(cast(type[Any], each.type), given[each.name], inside)
        else:
            values[each.name] = _number(given[each.name], each.metadata, inside)
    return kind(**values)


def _number(given: object, rules: Mapping[str, Any], path: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise DocumentInvalid(f"{path} is not a whole number")
    if not rules["least"] <= given <= rules["most"]:
        raise DocumentInvalid(f"{path} is not from {rules['least']} to {rules['most']}")
    return given
