"""The client's methods against the API's description: each asks for an operation of the API, and none is forgotten."""

import ast
import inspect
import json
import re
import runpy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_args, get_origin, get_type_hints

import pytest

from functions.api import openapi
from postdate_client import Client, Followed, answers
from postdate_client.transport import Answer

PATHS: Final = openapi.document()["paths"]
# Those that an application calls with `request`: batches, jobs, and what people and tools administer.
BY_REQUEST: Final = frozenset(
    {
        *(
            "schedulePayments",
            "cancelPayment",
            "listPaymentEvents",
            "listPaymentExecutions",
            "executePayment",
        ),
        *("openAccount", "openAccounts", "changeAccount", "closeAccount", "freezeAccount", "unfreezeAccount"),
        *("deposit", "adjust", "forecast", "listAccountEvents", "audit", "getOverview"),
        *("registerTasks", "changeTask", "pauseTask", "resumeTask", "backfillTask", "retryTask"),
        *("listRuns", "getRunOfTask", "getRun", "completeRun", "failRun", "extendRun", "retryRun"),
        *("registerJob", "listJobs", "getJob", "cancelJob"),
        *("planOperation", "listOperations", "listOperationItems"),
        *("startOperation", "stopOperation", "resumeOperation"),
    }
)
OF_APPLICATIONS: Final = (
    r"/api/v1/(payments|tasks|runs|accounts|events|operations|whoami|internal|audit|overview)|/v1/jobs"
)
GIVEN: Final[dict[str, Any]] = {"target": {"type": "sqs"}, "cron": "0 6 * * *", "amount": 5}


class Noted:
    """Answers everything with something that every method can read."""

    def __init__(self) -> None:
        self.asked: set[tuple[str, str]] = set()

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        self.asked.add((method, path.partition("?")[0]))
        lists = ("payments", "tasks", "accounts", "transactions", "runs")
        page = {name: [] for name in lists} | {"events": [{"n": 1}], "next": [], "next_cursor": None}
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
    files = describe["generated"](openapi.document())
    folder = Path(answers.__file__).parent
    assert files.keys() == {path.name for path in folder.glob("*.py")}
    for name, text in files.items():
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse((folder / name).read_text())), name


def test_each_method_returns_the_type_of_its_operations_answer(
    asked: dict[Any, str], describe: dict[str, Any]
) -> None:
    of_operations = describe["answers"](openapi.document())
    for method, name in asked.items():
        returned = get_type_hints(method)["return"]
        item = get_args(returned)[0] if get_origin(returned) in (list, Iterator) else returned
        if item is not Followed:
            assert item == getattr(answers, of_operations[name]), method
    assert set(of_operations) == set(asked.values())
