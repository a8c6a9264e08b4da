"""Counts what an erasure of a tenant would do: a part of the tables for each request, and sums of all parts before."""

import base64
import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from postdate.domain.errors import ValidationFailed
from postdate.runtime.invoked import Invoked
from postdate.stores.owned import OWNED

_CHARACTERS_MAX: Final = 8_192
_Sum = Annotated[int, Field(ge=0)]


class _Found(BaseModel):
    """The function's answer to the request before, as the cursor brings it back."""

    model_config = ConfigDict(extra="forbid", strict=True)

    rows: dict[str, _Sum]
    cancelled: _Sum
    held: _Sum
    letters: _Sum
    table: str
    after: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureCount:
    """The counts so far."""

    # The answer of the function `erase`, with the sums of all calls so far.
    found: dict[str, Any]
    # The place at which the next request goes on; None when all tables are counted.
    cursor: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureCounter:
    function: Invoked

    def count(self, tenant: str, cursor: str | None) -> ErasureCount:
        """Raises ValidationFailed for a cursor of another tenant, and Unavailable."""
        before = None if cursor is None else _read(cursor, tenant)
        found = self.function.call({"action": "count", "tenant": tenant, "found": before})
        goes_on = None if found["table"] is None else _written(found, tenant)
        return ErasureCount(found=found, cursor=goes_on)


def _mark(tenant: str) -> str:
    return hashlib.sha256(f"erasure of {tenant}".encode()).hexdigest()[:16]


def _written(found: dict[str, Any], tenant: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([found, _mark(tenant)]).encode()).decode()


def _read(cursor: str, tenant: str) -> dict[str, Any]:
    try:
        if len(cursor) > _CHARACTERS_MAX:
            raise ValueError
        found, mark = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        read = _Found.model_validate(found)
        if read.table not in OWNED:
            raise ValueError
    except (ValueError, TypeError, RecursionError, ValidationError):
        raise ValidationFailed([("cursor", "is not a cursor of this API")]) from None
    if mark != _mark(tenant):
        raise ValidationFailed([("cursor", "belongs to another query")])
    return read.model_dump()
