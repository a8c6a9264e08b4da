"""Carry out any operation of the API, by its name in the API's description; without a name, list all operations.

Speaks to the API of POSTDATE_URL with the key of POSTDATE_KEY, or to the local stack.
"""

import argparse
import json
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from cli.commands.down import place_arguments
from cli.failure import NotReady
from cli.service import change_arguments, service

_METHODS: Final = frozenset({"get", "post", "put", "patch", "delete"})
_IDEMPOTENCY: Final = "Idempotency-Key"
_MATCH: Final = "If-Match"


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """An operation as the API describes it, with the names of its parameters."""

    name: str
    summary: str
    method: str
    path: str
    in_path: tuple[str, ...]
    in_query: tuple[str, ...]
    headers: frozenset[str]
    takes_body: bool

    def path_of(self, given: dict[str, str]) -> str:
        """Raises NotReady for a name that it lacks, or does not know."""
        known = (*self.in_path, *self.in_query)
        missing = [name for name in self.in_path if name not in given]
        unknown = [name for name in given if name not in known and not name.startswith("metadata.")]
        if missing or unknown:
            takes = ", ".join(f"{name}={'...' if name in self.in_query else '<needed>'}" for name in known)
            raise NotReady(f"{self.name} takes {takes or 'no parameters'}")
        path = self.path
        for name in self.in_path:
            path = path.replace(f"{{{name}}}", quote(given[name], safe=""))
        asked = {name: value for name, value in given.items() if name not in self.in_path}
        return f"{path}?{urlencode(asked)}" if asked else path


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", nargs="?", help="such as getPayment")
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE", help="of the path and of the query")
    parser.add_argument(
        "--body", metavar="JSON", help="the body; @<file> reads it, and - reads standard input"
    )
    parser.add_argument("--idempotency-key", metavar="KEY", help="(a new one where the operation takes one)")
    parser.add_argument("--version", type=int, metavar="N", help="refuse the change of another version")
    change_arguments(parser)
    place_arguments(parser)


def run(options: argparse.Namespace) -> dict[str, Any]:
    with service(options, local_key="api_key") as api:
        known = operations(api.send("GET", "/openapi.json"))
        if options.operation is None:
            return {"operations": [{"name": each.name, "summary": each.summary} for each in known.values()]}
        if (operation := known.get(options.operation)) is None:
            raise NotReady(f"There is no operation {options.operation}. `postdate call` lists all.")
        path, body, headers = operation.path_of(_pairs(options)), _body(options), _headers(operation, options)
        method = operation.method.upper()
        if options.dry_run:
            return {"command": api.curl(method, path, body, headers)}
        if method == "DELETE":
            api.sure(f"{operation.summary}: {path}?")
        answer: Any = api.send(method, path, body, **headers)
    return answer if isinstance(answer, dict) else {"answer": answer}


def show(answer: dict[str, Any]) -> str:
    if "operations" in answer and all({"name", "summary"} == each.keys() for each in answer["operations"]):
        return "\n".join(f"{each['name']:<28} {each['summary']}" for each in answer["operations"])
    return str(answer["command"]) if answer.keys() == {"command"} else json.dumps(answer, indent=2)


def operations(description: dict[str, Any]) -> dict[str, Operation]:
    """The operations of an OpenAPI document by their names. References to shared parameters are resolved."""
    shared = description.get("components", {}).get("parameters", {})
    found = {}
    for path, methods in description["paths"].items():
        for method, told in methods.items():
            if method not in _METHODS:
                continue
            parameters = [
                shared[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
                for each in (*methods.get("parameters", ()), *told.get("parameters", ()))
            ]
            names = {
                place: tuple(each["name"] for each in parameters if each["in"] == place)
                for place in ("path", "query", "header")
            }
            found[told["operationId"]] = Operation(
                name=told["operationId"],
                summary=told["summary"],
                method=method,
                path=path,
                in_path=names["path"],
                in_query=names["query"],
                headers=frozenset(names["header"]),
                takes_body="requestBody" in told,
            )
    return found


def _pairs(options: argparse.Namespace) -> dict[str, str]:
    if wrong := [each for each in options.parameters if "=" not in each]:
        raise NotReady(f"{wrong[0]} is not NAME=VALUE")
    return dict(each.split("=", 1) for each in options.parameters)


def _body(options: argparse.Namespace) -> Any:
    if options.body is None:
        return None
    try:
        if options.body == "-":
            return json.load(sys.stdin)
        if options.body.startswith("@"):
            return json.loads(Path(options.body[1:]).read_text(encoding="utf-8"))
        return json.loads(options.body)
    except (OSError, ValueError) as error:
        raise NotReady(f"--body: {error}") from error


def _headers(operation: Operation, options: argparse.Namespace) -> dict[str, str]:
    headers = {}
    if _IDEMPOTENCY in operation.headers:
        headers[_IDEMPOTENCY] = options.idempotency_key or str(uuid.uuid4())
    if options.version is not None:
        headers[_MATCH] = f'"{options.version}"'
    return headers
