"""The bodies in which a receiver reports on a run."""

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

from functions.api.forms import Form

_TOKEN: Final = re.compile(r"^[0-9]{1,9}$")


def _number(given: object) -> object:
    """A header is a text; a receiver may send back what it got as it is."""
    if isinstance(given, str) and _TOKEN.fullmatch(given):
        return int(given)
    if isinstance(given, str):
        raise ValueError("must be the token of a delivery: a number of at most nine digits")
    return given


Token = Annotated[
    int,
    Field(ge=1, le=999_999_999),
    BeforeValidator(_number, json_schema_input_type=int | Annotated[str, Field(pattern=_TOKEN.pattern)]),
]
Error = Annotated[str, Field(min_length=1, max_length=200)]


class CompleteForm(Form):
    token: Token


class FailForm(Form):
    token: Token
    error: Error | None = None
    final: bool = False


class HeartbeatForm(Form):
    token: Token
    extend_seconds: Annotated[int, Field(ge=1, le=900)] | None = None
