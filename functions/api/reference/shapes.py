"""The words that schemas are written in."""

from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
NUMBER: Final[Schema] = {"type": "integer"}
INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
VERSION: Final[Schema] = {"type": "integer", "minimum": 1, "description": "One more with each change."}


def every(**properties: Schema) -> Schema:
    """An object whose every property is always there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def described(schema: Schema, text: str) -> Schema:
    return schema | {"description": text}


def or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def enum_of(words: Any) -> Schema:
    return {"type": "string", "enum": [word.value for word in words]}


def list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def either(*names: str) -> Schema:
    return ref(names[0]) if len(names) == 1 else {"oneOf": [ref(name) for name in names]}


def page_of(things: str, *schemas: str) -> Schema:
    cursor = described(or_null(TEXT), "Where the next page begins; null on the last one.")
    partial = described(
        {"type": "boolean"},
        "Whether the page ended early, because looking took too long: go on with `next_cursor`.",
    )
    return every(**{things: list_of(either(*schemas)), "next_cursor": cursor}, partial=partial)


def results_of(thing: str, *schemas: str) -> Schema:
    """The answer to a batch."""
    result: Schema = every(index=COUNT)
    result["properties"] |= {
        thing: described(either(*schemas), f"The {thing}, unless it was refused."),
        "error": described(ref("Problem"), "Why it was refused."),
    }
    return every(results=described(list_of(result), "In the order of what was sent."))
