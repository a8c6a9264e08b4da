"""Values as DynamoDB writes them, for rows that are built by hand: a model object for each write costs more time than
the write's text."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from postdate.domain import instants

AttributeMap = dict[str, dict[str, Any]]


def typed(texts: Mapping[str, str | None], numbers: Mapping[str, int | None]) -> AttributeMap:
    """An empty text is a value; what is None is left out."""
    written = {name: {"S": text} for name, text in texts.items() if text is not None}
    return written | {name: {"N": str(number)} for name, number in numbers.items() if number is not None}


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def milliseconds(value: datetime | None) -> int | None:
    return None if value is None else instants.milliseconds(value)


def instant(value: float | None) -> datetime | None:
    return None if value is None else instants.from_milliseconds(int(value))
