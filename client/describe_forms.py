"""The text of `postdate_client/forms.py`: types of the queries and request forms that the client's methods take."""

from collections.abc import Iterator, Mapping, Set
from typing import Any, Final

from schemas import (
    Schemas,
    Words,
    as_call,
    as_class,
    fields_of,
    has_words_of_python,
    key_of,
    name_of,
    reached,
)

# Fields that a method has as parameters of its own, or sets itself, by the type that lacks them.
WITHOUT: Final[Mapping[str, frozenset[str]]] = {
    "PreviewForm": frozenset({"cron"}),
    "FollowQuery": frozenset({"order", "limit", "cursor", "wait_seconds"}),
}
# Further types of an operation's query, for a second method that asks for the operation.
_ALSO: Final = {"listEvents": "FollowQuery"}
# The type of a query that has pages and no filters.
_PAGE: Final = "PageQuery"
_WORDS: Final = Words(instant="datetime | Instant", mapping="Mapping")
_TOLD: Final = "`python client/describe.py` writes this file from the API's description."
_FORMS: Final = f'''"""Types of request forms: what the methods of the client take to register or to change something.

A field whose name is a word of Python ends with `_`: `from_` is the `from` of the API. Instants are `datetime`s with a
time zone, or texts. {_TOLD}
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

from postdate_client.answers import Instant
'''
_QUERIES: Final = f'''"""Types of queries: the filters that the lists of the client take. None is no filter.

Names and instants are as in forms. {_TOLD}
"""

from datetime import datetime
from typing import Literal, NotRequired, TypedDict

from postdate_client.answers import Instant
'''


def generated(document: Mapping[str, Any], asked: Set[str]) -> dict[str, str]:
    """The text of both files, by name: the types that the operations named in `asked` take. A type stands behind those
    that it names."""
    schemas, forms, queries = document["components"]["schemas"], dict[str, str](), dict[str, str]()
    known: dict[str, dict[str, str]] = {}
    for told in _operations(document, asked):
        form = _form(schemas, told)
        for key in reached(schemas, form, {}):
            name, fields = name_of(key), fields_of(schemas, schemas[key], _WORDS)
            purpose, is_part = schemas[key].get("description", ""), key != key_of(form)
            forms[name] = _block(name, fields, purpose, known, is_part=is_part)
            known[name] = fields
        for name, query in _queries(told, document["components"]["parameters"]).items():
            purpose = (
                "Filters of the other lists." if name == _PAGE else f"Filters of `{told['operationId']}`."
            )
            queries[name] = _block(name, fields_of(schemas, query, _WORDS), purpose, {}, is_part=False)
    return {
        "forms.py": "\n\n".join([_FORMS, *forms.values()]),
        "queries.py": "\n\n".join([_QUERIES, *queries.values()]),
    }


def taken(document: Mapping[str, Any], asked: Set[str]) -> dict[str, set[str]]:
    """The names of the types, one of which a method that asks for the operation takes, by operation."""
    found, components = {}, document["components"]
    for told in _operations(document, asked):
        form = _form(components["schemas"], told)
        names = set(_queries(told, components["parameters"]))
        found[told["operationId"]] = names | ({name_of(key_of(form))} if form else set())
    return found


def _operations(document: Mapping[str, Any], asked: Set[str]) -> Iterator[dict[str, Any]]:
    for methods in document["paths"].values():
        for told in methods.values():
            if isinstance(told, dict) and told.get("operationId") in asked:
                yield told


def _form(schemas: Schemas, told: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the body, or nothing; of a batch, the schema of one of its items."""
    body: dict[str, Any] = told.get("requestBody", {})
    found: dict[str, Any] = body["content"]["application/json"]["schema"] if body else {}
    fields = list(schemas[key_of(found)]["properties"].values()) if found else []
    is_batch = len(fields) == 1 and "$ref" in fields[0].get("items", {})
    return fields[0]["items"] if is_batch else found


def _queries(told: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The schema of the operation's query, by the name of each type that it gets. None is no filter."""
    named = [parameters[each["$ref"].rpartition("/")[2]] for each in told.get("parameters", ())]
    fields = {
        each["name"]: {"anyOf": [each["schema"], {"type": "null"}]} for each in named if each["in"] == "query"
    }
    if not fields:
        return {}
    operation = str(told["operationId"])
    own = operation.removeprefix("list")
    name = _PAGE if fields.keys() == {"limit", "cursor"} else f"{own[0].upper()}{own[1:]}Query"
    also = {_ALSO[operation]: {"properties": fields}} if operation in _ALSO else {}
    return {name: {"properties": fields}, **also}


def _block(
    name: str, fields: dict[str, str], purpose: str, known: Mapping[str, dict[str, str]], *, is_part: bool
) -> str:
    """A type that has all fields of a known one begins with it. A part of a form is sent as it is, so its fields keep
    their names. Raises ValueError for a name that ends as the names of words of Python do here."""
    for field in fields:
        if field.endswith("_"):
            raise ValueError(f"{name}.{field} ends with _")
    own = {field: kind for field, kind in fields.items() if field not in WITHOUT.get(name, ())}
    if is_part and has_words_of_python(own):
        return as_call(name, own)
    for base, its in known.items():
        if len(its) > 1 and its.items() < own.items():
            more = {field: kind for field, kind in own.items() if field not in its}
            return as_class(name, more, " ".join(purpose.split()), base=base)
    return as_class(name, own, " ".join(purpose.split()))
