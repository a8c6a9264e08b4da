"""The words that the types of answers are written in.

An answer is a TypedDict: mypy compares what a route builds with it, and the API's description is generated from it. Its
name is the schema's name, and its docstring the schema's description.
"""

from enum import StrEnum
from typing import Annotated, Any, TypeAlias

from pydantic import Field

Count: TypeAlias = Annotated[int, Field(ge=0)]
Instant: TypeAlias = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
Version: TypeAlias = Annotated[int, Field(ge=1, description="One more with each change.")]
Cursor: TypeAlias = Annotated[
    str | None, Field(description="Where the next page begins; null on the last one.")
]
Partial: TypeAlias = Annotated[
    bool,
    Field(
        description="Whether the page ended early, because looking took too long: go on with `next_cursor`."
    ),
]


def told(text: str) -> Any:
    """Says what a field means."""
    return Field(description=text)


def words(of: type[StrEnum]) -> Any:
    """The field is one of these words. They are listed where the field stands, as older clients know it."""
    return Field(json_schema_extra={"enum": [word.value for word in of]})
