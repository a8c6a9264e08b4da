"""The API as an OpenAPI 3.1 document. Requests come from the forms, answers from their types, problems from the errors.

The document is assembled on request. No other request imports this module.
"""

from http import HTTPStatus
from typing import Any, Final

from functions.api.caller import ANY
from functions.api.errors import problem
from functions.api.operation import Operation
from functions.api.reference import examples, fields, links, problems, receiving, shapes
from functions.api.reference.about import ABOUT, INTERNAL, KEY, NO_KEY, OF_GATEWAY, RATE_LIMITED
from functions.api.reference.operations import GROUPS, OPERATIONS, TAGS
from functions.api.reference.schemas import answers, forms, ref

VERSION: Final = "0.1.0"


def document() -> dict[str, Any]:
    told, paths = _problems(), dict[str, Any]()
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Postdate", "version": VERSION, "description": ABOUT},
        "servers": [{"url": "."}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": text} for name, text, _ in GROUPS],
        "paths": paths,
        "webhooks": receiving.webhooks(),
        "components": {
            "schemas": forms() | answers(sorted(told)),
            "parameters": fields.PARAMETERS,
            "responses": {"RateLimited": RATE_LIMITED},
            "headers": fields.HEADERS,
            "examples": told,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": KEY},
                "internal": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Internal-Auth",
                    "description": INTERNAL,
                },
            },
        },
    }


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [TAGS[operation.name]],
        "summary": operation.summary,
        "description": operation.text,
        "security": [{operation.scheme: [] if scope == ANY else [scope]} for scope in operation.scopes],
        "responses": {str(operation.status): _success(operation)} | _failures(operation),
    }
    if operation.parameters:
        described["parameters"] = [
            {"$ref": f"#/components/parameters/{name}"} for name in operation.parameters
        ]
    if operation.body:
        name = operation.body.__name__
        content = {"schema": ref(name), "examples": operation.examples}
        described["requestBody"] = {
            "required": operation.body_needed,
            "content": {"application/json": content},
        }
    return described


def _success(operation: Operation) -> dict[str, Any]:
    headers = {name: {"$ref": f"#/components/headers/{name}"} for name in operation.headers}
    described: dict[str, Any] = {"description": HTTPStatus(operation.status).phrase}
    if headers:
        described["headers"] = headers
    if not operation.answers:
        kind = "text/html" if operation.path in ("/docs", "/console") else "application/json"
        return described | {"content": {kind: {"schema": {"type": "string" if "html" in kind else "object"}}}}
    names = operation.answers
    content = {"schema": shapes.either(*names), "example": operation.example or examples.answers()[names[0]]}
    if following := links.of(operation):
        described["links"] = following
    return described | {"content": {"application/json": content}}


def _failures(operation: Operation) -> dict[str, Any]:
    if operation.scope is None:
        return {}
    known = _problems()
    by_status: dict[str, list[str]] = {}
    of_body = problems.OF_BODIES if operation.body else ()
    of_writes = ("read_only",) if operation.is_refused_while_read_only else ()
    codes_of_all = (*operation.codes, *of_body, *problems.ALWAYS[operation.scheme], *of_writes)
    for code in dict.fromkeys(codes_of_all):
        by_status.setdefault(str(known[code]["value"]["status"]), []).append(code)
    failures: dict[str, Any] = {}
    for status, codes in sorted(by_status.items()):
        shown = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
        headers = [name for name, of in fields.ERROR_HEADERS.items() if not of.isdisjoint(codes)]
        failures[status] = {
            "description": ", ".join(codes),
            "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in headers},
            "content": {"application/problem+json": {"schema": ref("Problem"), "examples": shown}},
        }
    if operation.scheme == "key":
        failures["401"]["description"] += f". {NO_KEY}"
        failures["401"]["content"] |= OF_GATEWAY
    return failures | {"429": {"$ref": "#/components/responses/RateLimited"}}


def _problems() -> dict[str, dict[str, Any]]:
    """An example of each problem by its code: the meaning, the advice and the body as it is sent."""
    made = [
        (meaning, advice, problem(error, "JKJaXmPLvHcESHA=")) for error, meaning, advice in problems.ERRORS
    ]
    return {
        told["code"]: {"summary": meaning, "description": advice, "value": told}
        for meaning, advice, told in made
    }
