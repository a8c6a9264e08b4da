"""The row that a statement of our stores writes: an insert names all its attributes, an update its key at the end."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

_TABLE: Final = re.compile(r'(?:INTO|UPDATE|FROM) "([^"]+)"')
_INSERTED: Final = re.compile(r"'(\w+)':\?")
_COMPARED: Final = re.compile(r'"(\w+)"=\?')


def table_of(statement: Mapping[str, Any]) -> str:
    found: str = _TABLE.findall(statement["Statement"])[0]
    return found


def named(statement: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The attributes that an insert writes, or that an update compares."""
    names, skipped = _names(statement["Statement"])
    return dict(zip(names, statement["Parameters"][skipped:], strict=True))


@cache
def _names(text: str) -> tuple[tuple[str, ...], int]:
    """Names of the last parameters, and the number of parameters before them."""
    if text.startswith("INSERT"):
        return tuple(_INSERTED.findall(text)), 0
    changes, _, condition = text.partition(" WHERE ")
    return tuple(_COMPARED.findall(condition)), changes.count("=?")


def pairs(statement: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """All attributes with their parameters, those that an update sets before those that it compares."""
    text = statement["Statement"]
    names = _INSERTED.findall(text) if text.startswith("INSERT") else _COMPARED.findall(text)
    return list(zip(names, statement["Parameters"], strict=True))
