"""Types of Python for the schemas of the API's description, as text."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from keyword import iskeyword
from textwrap import fill
from typing import Any, Final

Schemas = Mapping[str, Any]
_WIDTH: Final = 118
_REF: Final = "#/components/schemas/"
_SIMPLE: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
# Names that tell more than those of the service's modules.
_RENAMED: Final = {"ChangeForm": "TaskChangeForm", "FilterForm": "OperationFilterForm"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Words:
    """The types of an instant and of an object without fields: requests take more than answers give."""

    instant: str
    mapping: str


def key_of(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).removeprefix(_REF)


def name_of(key: str) -> str:
    """Two modules of the service may have a type of one name; the keys of their schemas begin with the modules."""
    name = key.rpartition("__")[2]
    return _RENAMED.get(name, name)


def reached(schemas: Schemas, schema: object, known: dict[str, None]) -> dict[str, None]:
    """Adds the keys of the objects that the schema consists of to `known`, each behind those that it names."""
    for key in _references(schema):
        if key not in known and schemas[key].get("properties"):
            reached(schemas, schemas[key], known)
            known[key] = None
    return known


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield key_of(schema)
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def fields_of(schemas: Schemas, schema: Mapping[str, Any], words: Words) -> dict[str, str]:
    """The type of each field."""
    required = schema.get("required", ())
    kinds = {field: type_of(schemas, told, words) for field, told in schema["properties"].items()}
    return {field: kind if field in required else f"NotRequired[{kind}]" for field, kind in kinds.items()}


def has_words_of_python(fields: Mapping[str, str]) -> bool:
    return any(map(iskeyword, fields))


def as_class(name: str, fields: Mapping[str, str], purpose: str = "", *, base: str = "TypedDict") -> str:
    """A field whose name is a word of Python ends with `_`."""
    text = fill(f'"""{purpose}"""', _WIDTH, initial_indent="    ", subsequent_indent="    ")
    lines = [
        f"    {field}_: {kind}\n" if iskeyword(field) else f"    {field}: {kind}\n"
        for field, kind in fields.items()
    ]
    return f"class {name}({base}):\n" + (f"{text}\n\n" if purpose else "") + "".join(lines)


def as_call(name: str, fields: Mapping[str, str]) -> str:
    """A type whose fields may have any name."""
    lines = "".join(f'        "{field}": {kind},\n' for field, kind in fields.items())
    return f'{name} = TypedDict(\n    "{name}",\n    {{\n{lines}    }},\n)\n'


def type_of(schemas: Schemas, schema: Mapping[str, Any], words: Words) -> str:
    if "$ref" in schema:
        named = schemas[key_of(schema)]
        return name_of(key_of(schema)) if named.get("properties") else type_of(schemas, named, words)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(type_of(schemas, each, words) for each in options))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum") or [schema["const"]]
        return f"Literal[{', '.join(repr(each).replace(chr(39), chr(34)) for each in values)}]"
    match schema.get("type"):
        case "array":
            return f"list[{type_of(schemas, schema['items'], words)}]"
        case "object":
            inner = schema.get("additionalProperties")
            kind = type_of(schemas, inner, words) if isinstance(inner, dict) else "Any"
            return f"{words.mapping}[str, {kind}]"
        case "string" if schema.get("format") == "date-time":
            return words.instant
        case None:
            return "Any"
        case kind:
            return _SIMPLE[kind]


def shortened(blocks: Mapping[str, str]) -> dict[str, str]:
    """The same types. A long type that several fields of one name have becomes a type of that name."""
    lines = Counter(line for block in blocks.values() for line in block.splitlines())
    long = {line: line.strip().partition(": ") for line, uses in lines.items() if uses > 1 and len(line) > 80}
    found: dict[str, str] = {}
    for name, block in blocks.items():
        for line, (field, _, kind) in long.items():
            if line in block:
                alias = f"{field.capitalize()}: TypeAlias = {kind}\n"
                if found.setdefault(field.capitalize(), alias) != alias:
                    raise ValueError(f"two types for {field}")
                block = block.replace(line, f"    {field}: {field.capitalize()}")
        found[name] = block
    return found
