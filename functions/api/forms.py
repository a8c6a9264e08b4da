"""The base of all forms: strict reading, instants, and the fingerprint by which two requests are the same."""

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, TypeVar, overload

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import from_json

from functions.api import patterns
from functions.api.findings import INSTANT_WORDS, validation_failed
from functions.api.hashed_defaults import hashed_defaults
from postdate.domain import instants
from postdate.domain.errors import Malformed, ValidationFailed

DELAY_SECONDS_MAX: Final = 31_536_000
AccountId = Annotated[str, Field(pattern=patterns.ACCOUNT_ID)]
# More than any object or list of a form may have. A payload may have more.
ENTRIES_MAX: Final = 100
_PAYLOAD: Final = "payload"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}", re.ASCII)
_MICROSECOND = timedelta(microseconds=1)

FormT = TypeVar("FormT", bound="Form")


def _rfc3339(given: object) -> object:
    """Pydantic would also take a number of seconds written as text."""
    if not isinstance(given, str) or not _DATE.match(given):
        raise ValueError(INSTANT_WORDS)
    return given


def _in_range(instant: datetime) -> datetime:
    """Refuses instants so far away that a calculation with them could exceed the range of datetime."""
    if not instants.FIRST <= instant <= instants.LAST:
        raise ValueError(f"is an instant from {instants.FIRST.year} to {instants.LAST.year}")
    return instant


Instant = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_rfc3339), AfterValidator(_in_range)]

_INSTANT = TypeAdapter[datetime](Instant)


class Form(BaseModel):
    """Strict: no field is guessed, converted or passed over."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def named(self, field: str) -> str:
        """Returns the name of a field as the caller writes it."""
        return type(self).model_fields[field].alias or field

    def at_default(self, field: str) -> bool:
        """True also for a default that the caller sends: generated clients send all of them."""
        return bool(getattr(self, field) == type(self).model_fields[field].default)


def parsed(form: type[FormT], text: bytes | str, within: str = "") -> FormT:
    """Reads a body as the form.

    Raises Malformed for a body that is no JSON or gives a name twice. `NaN` and the like are no JSON, whatever a
    lenient reader makes of them.
    """
    try:
        from_json(text, allow_inf_nan=False)
        given = json.loads(text, object_pairs_hook=_each_once)
    except ValueError as error:
        raise Malformed(str(error) if isinstance(error, _GivenTwice) else None) from None
    return _read(form, text, given, within)


def part_of_batch(form: type[FormT], given: JsonValue) -> FormT:
    """Reads one item of a batch whose body has been parsed."""
    return _read(form, json.dumps(given), given, "")


def _read(form: type[FormT], text: bytes | str, given: Any, within: str) -> FormT:
    """Reads a text as the form. `given` is the same text as plain values, and `within` names the part of the body for
    errors."""
    _refuse_crowds(given, [within] if within else [])
    try:
        return form.model_validate_json(text)
    except ValidationError as invalid:
        raise validation_failed(invalid, within) from None


class _GivenTwice(ValueError):
    """An object gives a name twice. Readers differ in which of the two they take."""

    def __init__(self) -> None:
        super().__init__("The body gives a name twice.")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    given = dict(pairs)
    if len(given) != len(pairs):
        raise _GivenTwice
    return given


def _refuse_crowds(given: Any, path: Sequence[str]) -> None:
    """Refuses an object or a list with more entries than any form has, before each of them is found wrong."""
    if not isinstance(given, dict | list):
        return
    if len(given) > ENTRIES_MAX:
        raise ValidationFailed([(".".join(path) or "body", f"has more than {ENTRIES_MAX} entries")])
    for name, value in given.items() if isinstance(given, dict) else ():
        if path or name != _PAYLOAD:
            _refuse_crowds(value, [*path, name])


def instant_of(name: str, text: str) -> datetime:
    """An instant of a query, in UTC."""
    try:
        return instants.whole(_INSTANT.validate_python(text))
    except ValidationError as invalid:
        ((_, message),) = validation_failed(invalid).fields
        raise ValidationFailed([(name, message)]) from None


def fingerprint(form: Form, *about: str) -> str:
    """The same for two requests that ask for the same, however they were written down, and in every release that knows
    the fields they name. `about` is what is asked beside the body."""
    asked = _counting(form)
    asked.pop("idempotency_key", None)
    return hashlib.sha256(json.dumps([asked, *about], sort_keys=True).encode()).hexdigest()


def _counting(form: Form) -> dict[str, Any]:
    """The fields that differ from their defaults, and the values that always count. Another field that a later release
    adds changes no fingerprint of a request without it."""
    asked: dict[str, Any] = form.model_dump(mode="json", exclude_defaults=True)
    for name in asked:
        value = getattr(form, name)
        if isinstance(value, datetime):
            asked[name] = (value - instants.EPOCH) // _MICROSECOND
        elif isinstance(value, Form):
            asked[name] = _counting(value)
    return {**hashed_defaults(type(form)), **asked}


@overload
def text_of(instant: datetime) -> str: ...
@overload
def text_of(instant: None) -> None: ...
@overload
def text_of(instant: datetime | None) -> str | None: ...
def text_of(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")
