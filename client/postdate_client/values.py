"""Paths, bodies and keys of requests, and parsed answers."""

import json
import uuid
from datetime import datetime
from typing import Any
from urllib.parse import quote

from postdate_client.transport import Answer


def path_of(things: str, id: str) -> str:
    return f"/api/v1/{things}/{quote(id, safe='')}"


def new_key() -> str:
    return str(uuid.uuid4())


def given(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def text_of(value: Any) -> Any:
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
