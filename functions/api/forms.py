"""What all forms have in common: how strictly they are read, what an instant is, and when two ask for the same."""

import hashlib
import json
import re
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, TypeVar

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import from_json

from functions.api.errors import validation_failed
from postdate.domain import instants
from postdate.domain.errors import Malformed, ValidationFailed

DELAY_SECONDS_MAX: Final = 31_536_000
KEY_PATTERN: Final = r"^[\x21-\x7e]{1,255}$"
AccountId = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$")]
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}")
_MICROSECOND = timedelta(microseconds=1)

FormT = TypeVar("FormT", bound="Form")


def _rfc3339(given: object) -> object:
    """Pydantic would also take a number of seconds written as text."""
    if not isinstance(given, str) or not _DATE.match(given):
        raise ValueError("is an instant such as 2026-11-18T10:05:00Z")
    return given


Instant = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_rfc3339)]

_INSTANT = TypeAdapter[datetime](Instant)


class Form(BaseModel):
    """Strict: no field is guessed, converted or passed over."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def named(self, field: str) -> str:
        """As the caller writes it."""
        return type(self).model_fields[field].alias or field


def parsed(form: type[FormT], text: str | bytes, within: str = "") -> FormT:
    """Reads a body as the form; `NaN` and the like are no JSON, whatever a lenient reader makes of them."""
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError:
        raise Malformed from None
    try:
        return form.model_validate_json(text)
    except ValidationError as invalid:
        raise validation_failed(invalid, within) from None


def instant_of(name: str, text: str) -> datetime:
    """An instant of a query, in UTC."""
    try:
        return instants.whole(_INSTANT.validate_python(text))
    except (ValidationError, OverflowError):
        raise ValidationFailed([(name, "is an instant such as 2026-11-18T10:05:00Z")]) from None


def fingerprint(form: Form, *about: str) -> str:
    """The same for two requests that ask for the same, however they were written down. `about` is what is asked
    beside the body."""
    asked: dict[str, Any] = form.model_dump(mode="json", exclude={"idempotency_key"})
    for name, value in form:
        if isinstance(value, datetime):
            asked[name] = (value - instants.EPOCH) // _MICROSECOND
    return hashlib.sha256(json.dumps([asked, *about], sort_keys=True).encode()).hexdigest()


def text_of(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
