"""Settings: a function's environment, read once into one frozen dataclass.

Each function states what it reads as a class of its own; the infrastructure reads the same class to
know what to give. A field `items_table: str` is the environment variable `ITEMS_TABLE`.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from typing import Any, ClassVar, Protocol, TypeVar, cast


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


SettingsT = TypeVar("SettingsT", bound=_Dataclass)

_PARSERS: dict[type, Callable[[str], Any]] = {
    str: str,
    int: int,
    float: float,
    bool: lambda text: {"true": True, "false": False}[text],
}


class SettingsInvalid(RuntimeError):
    """A setting is missing or is not of its type; the function cannot work and says which one."""


def names(settings: type[_Dataclass]) -> frozenset[str]:
    """The environment variables that this class reads."""
    return frozenset(field.name.upper() for field in fields(settings))


def read(settings: type[SettingsT], environment: Mapping[str, str] | None = None) -> SettingsT:
    source = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for field in fields(settings):
        name = field.name.upper()
        try:
            values[field.name] = _PARSERS[cast(type, field.type)](source[name])
        except KeyError as missing:
            raise SettingsInvalid(f"{name} is missing or not one of its values") from missing
        except ValueError as invalid:
            raise SettingsInvalid(f"{name} is no {field.type}: {source[name]!r}") from invalid
    return settings(**values)
