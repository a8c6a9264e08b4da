"""Field types of answers.

An answer is a TypedDict: mypy compares what a route builds with it, and the API's description is generated from it. Its
name is the schema's name, and its docstring the schema's description.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, TypeAlias

from pydantic import Field, JsonValue

Count: TypeAlias = Annotated[int, Field(ge=0)]
Instant: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Version: TypeAlias = Annotated[int, Field(ge=1, description="1 at first, one more with each change.")]
Cursor: TypeAlias = Annotated[
    str | None, Field(description="The begin of the next page; null on the last page.")
]
Partial: TypeAlias = Annotated[
    bool,
    Field(
        description="True if the page ended early because the search took too long: continue with `next_cursor`."
    ),
]


def described(text: str) -> Any:
    """The meaning of a field."""
    return Field(description=text)


def words(of: type[StrEnum]) -> Any:
    """The field is one of these words. They are listed where the field stands, as older clients know it."""
    return one_of(word.value for word in of)


def one_of(words: Iterable[str]) -> Any:
    return Field(json_schema_extra={"enum": list[JsonValue](words)})
