"""Writes `postdate_client/answers`: types of the answers that the client's methods return, from the API's description.
`describe_forms` writes the types of queries and forms.

`python client/describe.py` runs inside the repository, because the service's code has the description.
"""

import re
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import describe_forms
from schemas import (
    Schemas,
    Words,
    as_call,
    as_class,
    fields_of,
    has_words_of_python,
    name_of,
    reached,
    shortened,
    type_of,
)

from functions.api import openapi

FOLDER: Final = Path(__file__).resolve().parent / "postdate_client" / "answers"
_METHODS: Final = """
whoami schedulePayment schedulePayments listPayments getPayment changePayment cancelPaymentByPost listPaymentEvents
listPaymentExecutions openAccount openAccounts getAccount listAccounts changeAccount closeAccount freezeAccount
unfreezeAccount deposit adjust listTransactions listAccountEvents forecast registerTasks pauseTask resumeTask retryTask
triggerTask backfillTask previewTask listRuns listAllRuns getRun completeRun failRun extendRun retryRun planOperation
getOperation listOperations listOperationItems startOperation stopOperation resumeOperation listEvents getEvent
"""
# The operations that a method of the client asks for. Some have one of several answers: the name stands for all.
ASKED: Final = {
    **dict.fromkeys(re.findall(r"\w+", _METHODS), ""),
    "registerTask": "AnyTask",
    "changeTask": "AnyTask",
    "getTask": "AnyTaskWithPayload",
    "cancelTask": "AnyCancelledTask",
    "listTasks": "ListedTask",
}
_TOLD: Final = "`python client/describe.py` writes this file from the API's description."
_MODULE: Final = '''"""Types of answers about {}. {}"""

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
_WORDS: Final = Words(instant="Instant", mapping="dict")
# The module of types that several resources answer with, and of long types that several fields have.
_SHARED: Final = "shared"
# Answers that have pages of a part of them, and are no lists.
_WHOLE: Final = frozenset({"Forecast"})


def generated(document: Mapping[str, Any]) -> dict[str, str]:
    """The text of each file of the folder, by name."""
    modules = _modules(document["components"]["schemas"], _answers(document))
    imports = [
        f"from postdate_client.answers.{resource} import {', '.join(sorted(module))}\n"
        for resource, module in sorted((modules | {"instant": {"Instant": ""}}).items())
    ]
    listed = ", ".join(f'"{name}"' for name in sorted([*chain(*modules.values()), "Instant"]))
    return {
        "__init__.py": f"{_PACKAGE.format(_TOLD)}{''.join(imports)}\n__all__ = [{listed}]\n",
        "instant.py": _INSTANT.format(_TOLD),
        **{f"{name}.py": _text(name, module, modules[_SHARED]) for name, module in modules.items()},
    }


def answers(document: Mapping[str, Any]) -> dict[str, str]:
    """The type that each operation answers with, as it stands in an annotation; of a list, that of an item."""
    return {
        operation: ASKED[operation] or type_of(document["components"]["schemas"], schema, _WORDS)
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
    told = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
    fields = told.get("properties", {})
    lists = [each for each in fields.values() if each.get("type") == "array"]
    is_page = "next_cursor" in fields and name_of(schema["$ref"].rpartition("/")[2]) not in _WHOLE
    is_list = is_page or len(fields) == len(lists) == 1
    item: dict[str, Any] = lists[0]["items"] if is_list else schema
    return item


def _modules(
    schemas: Schemas, answers: Mapping[str, Mapping[str, dict[str, Any]]]
) -> dict[str, dict[str, str]]:
    """The text of each type by its name, by module. A type stands behind those that it names. Raises ValueError if two
    types have one name."""
    types = {resource: reached(schemas, list(found.values()), {}) for resource, found in answers.items()}
    uses = Counter(chain(*types.values()))
    if len(uses) != len({name_of(each) for each in uses}):
        raise ValueError(f"two types have one name: {sorted(uses)}")
    whole = {name_of(each): _block(schemas, each) for each in uses}
    blocks = shortened(whole)
    made = {_SHARED: {name: text for name, text in blocks.items() if name not in whole}}
    for resource, found in types.items():
        for each in found:
            module = _SHARED if uses[each] > 1 else resource
            made.setdefault(module, {})[name_of(each)] = blocks[name_of(each)]
        for operation, schema in answers[resource].items():
            if alias := ASKED[operation]:
                made[resource][alias] = f"{alias}: TypeAlias = {type_of(schemas, schema, _WORDS)}\n"
    return made


def _block(schemas: Schemas, key: str) -> str:
    name, fields = name_of(key), fields_of(schemas, schemas[key], _WORDS)
    if has_words_of_python(fields):
        return as_call(name, fields)
    return "@final\n" + as_class(name, fields, schemas[key].get("description", ""))


def _text(name: str, module: Mapping[str, str], shared: Mapping[str, str]) -> str:
    """A module with the imports that it needs."""
    body = "\n\n".join(module.values())
    needed = [each for each in sorted(shared) if name != _SHARED and re.search(rf"\b{each}\b", body)]
    head = _MODULE.format("several resources" if name == _SHARED else name, _TOLD)
    head += f"from postdate_client.answers.{_SHARED} import {', '.join(needed)}\n" if needed else ""
    return _used(f"{head}\n\n{body}")


def _used(text: str) -> str:
    """The module without the imports that it does not need."""
    head, _, rest = text.partition("\n\n\n")
    words = ("Any", "Literal", "NotRequired", "TypeAlias", "TypedDict", "final")
    needed = [word for word in words if word in rest]
    head = head.replace(", ".join(words), ", ".join(needed))
    if "Instant" not in rest:
        head = head.replace("\nfrom postdate_client.answers.instant import Instant", "")
    return f"{head.rstrip()}\n\n\n{rest}"


if __name__ == "__main__":
    described = openapi.document()
    written = generated(described)
    for path in FOLDER.glob("*.py"):
        path.unlink()
    for name, text in written.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    for name, text in describe_forms.generated(described, ASKED.keys()).items():
        (FOLDER.parent / name).write_text(text, encoding="utf-8")
    sys.stdout.write(f"{FOLDER.name}, forms and queries are written. `ruff format` comes next.\n")
