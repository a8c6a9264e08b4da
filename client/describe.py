"""Writes `postdate_client/answers`: types of the answers that the client's methods return, from the API's description.

`python client/describe.py` runs inside the repository, because the service's code has the description.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Any, Final

from functions.api import openapi

FOLDER: Final = Path(__file__).resolve().parent / "postdate_client" / "answers"
# The operations that a method of the client asks for. Some have one of several answers: the name stands for all.
ASKED: Final = {
    **dict.fromkeys(("whoami", "schedulePayment", "listPayments", "getPayment", "changePayment"), ""),
    **dict.fromkeys(("cancelPaymentByPost", "triggerTask", "previewTask", "getAccount", "listAccounts"), ""),
    **dict.fromkeys(("listTransactions", "getOperation", "listEvents", "getEvent"), ""),
    "registerTask": "AnyTask",
    "getTask": "AnyTaskWithPayload",
    "cancelTask": "AnyCancelledTask",
    "listTasks": "ListedTask",
}
_TOLD: Final = "`python client/describe.py` writes this file from the API's description."
_MODULE: Final = '''"""Types of the answers about {}. {}"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, final

from postdate_client.answers.instant import Instant
'''
_INSTANT: Final = '''"""The type of instants. {}"""

from typing import TypeAlias

# RFC 3339 in UTC, with milliseconds.
Instant: TypeAlias = str
'''
_PACKAGE: Final = '''"""Types of the API's answers: dictionaries. A later release of the API may add fields.

{}
"""

'''
_SIMPLE: Final = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_REF: Final = "#/components/schemas/"


def generated(document: Mapping[str, Any]) -> dict[str, str]:
    """The text of each file of the folder, by name. Raises ValueError for a schema of two resources: a module that both
    import is needed then."""
    modules: dict[str, dict[str, str]] = {}
    for resource, found in _answers(document).items():
        modules[resource] = _module(document["components"]["schemas"], found)
    names = [name for module in modules.values() for name in module]
    if len(names) != len(set(names)):
        raise ValueError(f"two modules have a type of one name: {sorted(names)}")
    heads = {resource: _MODULE.format(resource, _TOLD) for resource in modules}
    imports = [
        f"from postdate_client.answers.{resource} import {', '.join(sorted(module))}\n"
        for resource, module in sorted((modules | {"instant": {"Instant": ""}}).items())
    ]
    listed = ", ".join(f'"{name}"' for name in sorted([*names, "Instant"]))
    return {
        "__init__.py": f"{_PACKAGE.format(_TOLD)}{''.join(imports)}\n__all__ = [{listed}]\n",
        "instant.py": _INSTANT.format(_TOLD),
        **{f"{name}.py": _used("\n\n".join([heads[name], *modules[name].values()])) for name in modules},
    }


def answers(document: Mapping[str, Any]) -> dict[str, str]:
    """The type that each operation answers with, as it stands in an annotation; of a list, that of an item."""
    return {
        operation: ASKED[operation] or _type(schema)
        for found in _answers(document).values()
        for operation, schema in found.items()
    }


def _answers(document: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """The schema of the answer of each operation, by the resource in its path."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for path, methods in document["paths"].items():
        for told in methods.values():
            if isinstance(told, dict) and told.get("operationId") in ASKED:
                answer = next(each for code, each in told["responses"].items() if code.startswith("2"))
                schema = answer["content"]["application/json"]["schema"]
                found.setdefault(path.split("/")[3], {})[told["operationId"]] = _item(document, schema)
    return found


def _item(document: Mapping[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of an item, if the answer is a list."""
    told = document["components"]["schemas"].get(schema.get("$ref", "").removeprefix(_REF), {})
    fields = told.get("properties", {})
    lists = [each for each in fields.values() if each.get("type") == "array"]
    is_list = "next_cursor" in fields or len(fields) == len(lists) == 1
    item: dict[str, Any] = lists[0]["items"] if is_list else schema
    return item


def _module(schemas: Mapping[str, Any], found: Mapping[str, dict[str, Any]]) -> dict[str, str]:
    """The text of each type by its name. A type stands behind those that it names."""
    reached: dict[str, None] = {}
    for schema in found.values():
        _reach(schemas, schema, reached)
    blocks = _shortened({_name(each): _block(_name(each), schemas[each]) for each in reached})
    aliases = {
        ASKED[operation]: f"{ASKED[operation]}: TypeAlias = {_type(schema)}\n"
        for operation, schema in found.items()
        if ASKED[operation]
    }
    return blocks | aliases


def _shortened(blocks: Mapping[str, str]) -> dict[str, str]:
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


def _reach(schemas: Mapping[str, Any], schema: object, reached: dict[str, None]) -> None:
    for each in _references(schema):
        if each not in reached and schemas[each]:
            _reach(schemas, schemas[each], reached)
            reached[each] = None


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(_REF)
        for each in schema.values():
            yield from _references(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _references(each)


def _name(schema: str) -> str:
    """Two modules of the service may have a type of one name; their schemas are told apart by the modules."""
    return schema.rpartition("__")[2]


def _block(name: str, schema: dict[str, Any]) -> str:
    """A class, or a call if a field's name is a word of the language."""
    required = schema.get("required", ())
    fields = {
        field: _type(told) if field in required else f"NotRequired[{_type(told)}]"
        for field, told in schema["properties"].items()
    }
    if any(iskeyword(field) for field in fields):
        lines = "".join(f'        "{field}": {kind},\n' for field, kind in fields.items())
        return f'{name} = TypedDict(\n    "{name}",\n    {{\n{lines}    }},\n)\n'
    told = f'    """{schema["description"]}"""\n\n' if "description" in schema else ""
    lines = "".join(f"    {field}: {kind}\n" for field, kind in fields.items())
    return f"@final\nclass {name}(TypedDict):\n{told}{lines}"


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_REF)
        return "Any" if name == "JsonValue" else _name(name)
    if options := schema.get("anyOf") or schema.get("oneOf"):
        return " | ".join(dict.fromkeys(map(_type, options)))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum") or [schema["const"]]
        return f"Literal[{', '.join(repr(each).replace(chr(39), chr(34)) for each in values)}]"
    match schema.get("type"):
        case "array":
            return f"list[{_type(schema['items'])}]"
        case "object":
            inner = schema.get("additionalProperties")
            return f"dict[str, {_type(inner) if isinstance(inner, dict) else 'Any'}]"
        case "string" if schema.get("format") == "date-time":
            return "Instant"
        case None:
            return "Any"
        case kind:
            return _SIMPLE[kind]


def _used(text: str) -> str:
    """The module without the imports that it does not need."""
    head, _, rest = text.partition("\n\n\n")
    words = ("Any", "Literal", "NotRequired", "TypeAlias", "TypedDict", "final")
    needed = [word for word in words if word in rest]
    head = head.replace(", ".join(words), ", ".join(needed))
    if "Instant" not in rest:
        head = head.replace("\n\nfrom postdate_client.answers.instant import Instant", "")
    return f"{head}\n\n\n{rest}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in generated(openapi.document()).items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{FOLDER.name} is written. `ruff format` comes next.\n")
