"""One line of the table behind the API's description."""

from dataclasses import dataclass
from typing import Literal

from functions.api.forms import Form


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """`answer` names a schema, `codes` the errors beside those that every operation with a key may answer. `scheme` is
    how the key is shown. `or_answer` is that of a recurring task."""

    method: str
    path: str
    name: str
    summary: str
    text: str
    answer: str | None = None
    or_answer: str | None = None
    status: int = 200
    body: type[Form] | None = None
    body_needed: bool = True
    scope: str | None = None
    scheme: Literal["key", "internal"] = "key"
    parameters: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
