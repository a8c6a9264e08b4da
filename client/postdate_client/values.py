"""Paths, bodies and keys of requests, and parsed answers."""

import json
import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any, cast
from urllib.parse import quote

from postdate_client.transport import Answer


def path_of(things: str, id: str) -> str:
    return f"/api/v1/{things}/{quote(id, safe='')}"


def new_key() -> str:
    return str(uuid.uuid4())


def given(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def keyed(fields: Mapping[str, object]) -> dict[str, object]:
    """An item of a batch with its idempotency key: the one given, or a new one."""
    item = given(named(fields))
    return {"idempotency_key": new_key(), **item}


def named(fields: Mapping[str, object]) -> dict[str, object]:
    """The fields by their names in the API: `from_` is `from`, a word of Python."""
    return {name.removesuffix("_"): value for name, value in fields.items()}


def plain(value: object) -> object:
    """The form in JSON of an instant (RFC 3339) or of a mapping. Raises ValueError for an instant without an offset,
    and TypeError for anything else."""
    if isinstance(value, datetime):
        return text_of(value)
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def text_of(value: object) -> object:
    """An instant as RFC 3339; anything else as it is. Raises ValueError for an instant without an offset."""
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise ValueError("an instant needs a time zone")
    return value.isoformat()


def parsed(answer: Answer) -> Any:
    try:
        return json.loads(answer.body) if answer.body else None
    except ValueError:
        return None
