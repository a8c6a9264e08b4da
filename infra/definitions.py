"""Definitions of state machines: `statemachines/<name>.asl.json`, with names filled in. Tests read them the same
way."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

DEFINITIONS: Final = Path(__file__).parents[1] / "statemachines"


def filled(text: str, values: Mapping[str, str]) -> str:
    """Puts the values in the place of `${Name}`. Paths into the context, `$$.Map`, stay as they are: `string.Template`
    would make `$.Map` of them. Raises KeyError for a name without a value."""
    return re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], text)


def definition(name: str, folder: Path = DEFINITIONS) -> str:
    return (folder / f"{name}.asl.json").read_text()
