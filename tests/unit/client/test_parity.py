"""The client's methods against the API's description: each asks for an operation of the API, and none is forgotten."""

import ast
import inspect
import json
import re
import runpy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Unpack, get_args, get_origin, get_type_hints

import describe_forms
import pytest

from postdate_client import Client, Followed, answers, forms, queries
from postdate_client.transport import Answer
from tests.described import DESCRIPTION

PATHS: Final = DESCRIPTION["paths"]
# Other names of an operation, jobs, and what people and tools ask for: `request` sends them.
BY_REQUEST: Final = frozenset(
    {
        *("cancelPayment", "executePayment", "getRunOfTask", "audit", "getOverview"),
        *("registerJob", "listJobs", "getJob", "cancelJob"),
    }
)
OF_APPLICATIONS: Final = (
    r"/api/v1/(payments|tasks|runs|accounts|events|operations|whoami|internal|audit|overview)|/v1/jobs"
)
# Of the methods that take a batch.
GIVEN: Final[dict[str, Any]] = {"payments": [], "tasks": [], "accounts": []}


class Noted:
    """Answers everything with something that every method can read."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, str]] = set()

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        self.asked.add((method, path.partition("?")[0]))
        lists = (
            "payments",
            "tasks",
            "accounts",
            "transactions",
            "runs",
            "operations",
            "items",
            "executions",
            "results",
        )
        page: dict[str, Any] = {name: [] for name in lists} | {
            "events": [{"n": 1}],
            "next": [],
            "next_cursor": None,
        }
        told = {**page, "follow_cursor": "c", "status": "COMPLETED", "state": "DONE"}
        if "/tasks/" in path and method == "GET":
            told["status"] = "SUCCEEDED"
        return Answer(status=200, headers={}, body=json.dumps(told).encode())

    def close(self) -> None:
        pass


def used(method: Any) -> None:
    """Calls it with its needed arguments; of an iterator, takes the first."""
    needed = {
        name: GIVEN.get(name, "x")
        for name, each in inspect.signature(method).parameters.items()
        if each.default is inspect.Parameter.empty and each.kind is not inspect.Parameter.VAR_KEYWORD
    }
    found = method(**needed)
    if inspect.isgenerator(found):
        next(found, None)


@pytest.fixture(scope="module")
def asked() -> dict[Any, str]:
    """The operation that each of the client's methods asks for."""
    noted = Noted()
    client = Client("http://127.0.0.1:9", "k", transport=noted, sleep=lambda _: None)
    own = [client, client.events]
    skipped = {"request", "pages", "close", "rest"}
    found = {}
    for each in own:
        for name, method in inspect.getmembers(each, inspect.ismethod):
            if not name.startswith("_") and name not in skipped:
                noted.asked.clear()
                used(method)
                (only,) = noted.asked
                found[method] = operation(*only)
    return found


@pytest.fixture(scope="module")
def operations(asked: dict[Any, str]) -> set[str]:
    """The names of the operations that the client's methods ask for."""
    return set(asked.values())


def operation(method: str, path: str) -> str:
    found = [
        methods[method.lower()]["operationId"]
        for template, methods in PATHS.items()
        if method.lower() in methods and re.fullmatch(re.sub(r"{\w+}", "x", template), path)
    ]
    assert found, f"the API has no {method} {path}"
    return str(found[0])


def test_a_method_asks_for_an_operation_that_there_is(operations: set[str]) -> None:
    assert {"schedulePayment", "registerTask", "listEvents", "getOperation", "previewTask"} <= operations


def test_every_operation_is_a_method_or_is_named_here(operations: set[str]) -> None:
    """Resources beside payments, tasks, runs, accounts, events and operations are administered, and have no methods."""
    described = {
        told["operationId"]
        for path, methods in PATHS.items()
        for method, told in methods.items()
        if re.match(OF_APPLICATIONS, path)
        and method in ("get", "post", "put", "patch", "delete")
    }  # fmt: skip
    assert described - operations - BY_REQUEST == set()
    assert operations & BY_REQUEST == set()


@pytest.fixture(scope="module")
def describe() -> dict[str, Any]:
    """The program that writes the types of answers."""
    return runpy.run_path("client/describe.py")


def test_the_types_of_answers_are_those_of_the_description(describe: dict[str, Any]) -> None:
    files = describe["generated"](DESCRIPTION)
    folder = Path(answers.__file__).parent
    assert files.keys() == {path.name for path in folder.glob("*.py")}
    for name, text in files.items():
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse((folder / name).read_text())), name


def test_each_method_returns_the_type_of_its_operations_answer(
    asked: dict[Any, str], describe: dict[str, Any]
) -> None:
    of_operations = describe["answers"](DESCRIPTION)
    for method, name in asked.items():
        returned = get_type_hints(method)["return"]
        item = get_args(returned)[0] if get_origin(returned) in (list, Iterator) else returned
        if item is not Followed:
            assert item == getattr(answers, of_operations[name]), method
    assert set(of_operations) == set(asked.values())


def test_the_types_of_queries_and_forms_are_those_of_the_description(describe: dict[str, Any]) -> None:
    files = describe_forms.generated(DESCRIPTION, describe["ASKED"].keys())
    assert files.keys() == {"forms.py", "queries.py"}
    for module in (forms, queries):
        path = Path(module.__file__)
        assert ast.dump(ast.parse(files[path.name])) == ast.dump(ast.parse(path.read_text())), path.name


def test_each_method_takes_the_query_and_the_form_of_its_operation(
    asked: dict[Any, str], describe: dict[str, Any]
) -> None:
    """A method of a batch takes a sequence. A field that the type lacks is a parameter of the method or set by it."""
    wanted = describe_forms.taken(DESCRIPTION, describe["ASKED"].keys())
    taken: dict[str, set[str]] = {name: set() for name in asked.values()}
    for method, name in asked.items():
        hints = [hint for hint in get_type_hints(method).values() if get_origin(hint) in (Unpack, Sequence)]
        types = [get_args(hint)[0] for hint in hints]
        taken[name] |= {each.__name__ for each in types}
    assert taken == wanted
    assert describe_forms.WITHOUT["PreviewForm"] <= inspect.signature(Client.preview).parameters.keys()


def test_a_field_with_the_name_of_a_word_of_python_ends_with_a_mark() -> None:
    assert {"from_"} == {
        field
        for each in (*vars(forms).values(), *vars(queries).values())
        for field in getattr(each, "__annotations__", ())
        if field.endswith("_")
    }


def test_a_part_of_a_form_keeps_the_names_of_its_fields() -> None:
    """Parts are sent as they are, so `from_` would be sent as `from_`."""
    assert "from" in forms.OperationFilterForm.__annotations__
    part = {"properties": {"from": {"type": "string"}}}
    assert (
        describe_forms.generated(described(part), {"find"})["forms.py"].count('"from": NotRequired[str]') == 1
    )
    with pytest.raises(ValueError, match=r"Part\.from_ ends with _"):
        describe_forms.generated(described({"properties": {"from_": {"type": "string"}}}), {"find"})


def described(part: dict[str, Any]) -> dict[str, Any]:
    """The description of an operation whose form has a part."""
    form = {"properties": {"filter": {"$ref": "#/components/schemas/Part"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Form"}}}}
    return {
        "paths": {"/things": {"post": {"operationId": "find", "requestBody": body}}},
        "components": {"schemas": {"Form": form, "Part": part}, "parameters": {}},
    }
