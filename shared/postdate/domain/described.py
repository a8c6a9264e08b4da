"""Fields of parameters, each with its default, rules and line of documentation, and the reading of a document."""

from collections.abc import Callable, Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, Final, TypeVar, cast

SectionT = TypeVar("SectionT")
INTEGER: Final = "integer"
CHOICE: Final = "choice"
NAMES: Final = "names"
# Tenants in one list of a rule. A document has its bounds, and each item may look its tenant up.
NAMES_MAX: Final = 200
_NAME_CHARACTERS_MAX: Final = 63


class DocumentInvalid(ValueError):
    """This code cannot use a document: a value is of another type or out of bounds."""


def bounded(usual: int, *, least: int, most: int, meaning: str) -> Any:
    """A whole number."""
    return field(default=usual, metadata={"kind": INTEGER, "least": least, "most": most, "meaning": meaning})


def chosen(usual: str, *, among: tuple[str, ...], meaning: str) -> Any:
    return field(default=usual, metadata={"kind": CHOICE, "among": among, "meaning": meaning})


def names(*, meaning: str) -> Any:
    """A list of tenants; empty by default."""
    return field(default=(), metadata={"kind": NAMES, "meaning": meaning})


def section(kind: Callable[..., SectionT], **usual: Any) -> Any:
    """Parameters of their own. `usual` are the defaults that differ from those of the section's type."""
    return field(default_factory=lambda: kind(**usual))


def read_section(kind: type[SectionT], given: object, *, usual: SectionT, path: str = "") -> SectionT:
    """Reads one section of a document. Names that the document leaves out keep the values of `usual`, and names that
    this code does not know are ignored. Raises DocumentInvalid."""
    if not isinstance(given, Mapping):
        raise DocumentInvalid(f"{path or 'the document'} is not an object")
    values: dict[str, Any] = {}
    for each in fields(cast(Any, kind)):
        default, inside = getattr(usual, each.name), f"{path}.{each.name}".removeprefix(".")
        if each.name not in given:
            values[each.name] = default
        elif is_dataclass(each.type):
            part = cast(type[Any], each.type)
            values[each.name] = read_section(part, given[each.name], usual=default, path=inside)
        else:
            values[each.name] = _READ[each.metadata["kind"]](given[each.name], each.metadata, inside)
    return kind(**values)


def _integer(given: object, rules: Mapping[str, Any], path: str) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise DocumentInvalid(f"{path} is not a whole number")
    if not rules["least"] <= given <= rules["most"]:
        raise DocumentInvalid(f"{path} is not from {rules['least']} to {rules['most']}")
    return given


def _choice(given: object, rules: Mapping[str, Any], path: str) -> str:
    if given not in rules["among"]:
        raise DocumentInvalid(f"{path} is not one of {', '.join(rules['among'])}")
    return str(given)


def _names(given: object, rules: Mapping[str, Any], path: str) -> tuple[str, ...]:
    if not isinstance(given, list) or len(given) > NAMES_MAX:
        raise DocumentInvalid(f"{path} is not a list of at most {NAMES_MAX}")
    if not all(isinstance(each, str) and 0 < len(each) <= _NAME_CHARACTERS_MAX for each in given):
        raise DocumentInvalid(f"{path} has an entry that is no tenant")
    return tuple(given)


_READ: Final[Mapping[str, Callable[[object, Mapping[str, Any], str], Any]]] = {
    INTEGER: _integer,
    CHOICE: _choice,
    NAMES: _names,
}
