"""The API as an OpenAPI 3.1 document. Requests come from the forms, answers from their types, problems from the errors.

The document is assembled on request. No other request imports this module.
"""

from http import HTTPStatus
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.alias_generators import to_snake
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from functions.api.caller import ANY
from functions.api.errors import problem
from functions.api.forms import Form
from functions.api.operation import Operation
from functions.api.payments.forms import BatchPaymentForm
from functions.api.reference import (
    examples,
    fields,
    links,
    problems,
    receiving,
    shapes,
)
from functions.api.reference.operations import GROUPS, OPERATIONS, TAGS
from functions.api.tasks.forms import BatchTaskForm

VERSION: Final = "0.1.0"
FORMS: Final[tuple[type[Form], ...]] = (
    *(BatchPaymentForm, BatchTaskForm),
    *(each.body for each in OPERATIONS if each.body is not None),
)
_SCHEMAS: Final = "#/components/schemas/"


def document() -> dict[str, Any]:
    told, paths = _problems(), dict[str, Any]()
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _described(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Postdate", "version": VERSION, "description": _ABOUT},
        "servers": [{"url": "."}],
        "security": [{"key": []}],
        "tags": [{"name": name, "description": text} for name, text, _ in GROUPS],
        "paths": paths,
        "webhooks": receiving.webhooks(),
        "components": {
            "schemas": _forms() | _answers(sorted(told)),
            "parameters": fields.PARAMETERS,
            "responses": {"RateLimited": _RATE_LIMITED},
            "headers": fields.HEADERS,
            "examples": told,
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": _KEY},
                "internal": {
                    "type": "apiKey",
                    "in": "header",
                    "name": "X-Internal-Auth",
                    "description": _INTERNAL,
                },
            },
        },
    }


_ABOUT: Final = (
    "Moves money between accounts and makes calls, later: a payment, a webhook, a message or an event, at an "
    "instant up to a year ahead; a call also again and again, as a cron says. Amounts are whole units of one virtual "
    "currency. "
    "Requests and answers are JSON, sent as `application/json` in UTF-8; a name that is given twice makes a body "
    "malformed, and a field that is not known is refused by its name. Texts such as names and descriptions have no "
    "control characters and none that cannot be seen. Instants are RFC 3339 with an "
    "offset, from 1970 to 2200, and are answered in UTC with milliseconds. A body has at most 1 MB, that of a batch "
    "5 MB, with each quote, backslash and line break counted twice. Every GET is also there as HEAD. "
    "A GET that succeeds answers an `ETag`, and 304 without a body to the same tag in `If-None-Match`. "
    "Errors are `application/problem+json` with a stable `code`; a method that a path does not take is answered 405 "
    "`method_not_allowed` with `Allow`. "
    'Four answers come from the gateway in front of the API and look like `{"message": "…"}`: 401 for a request '
    "without an `Authorization` header, 429 above the rate of the gateway, 413 for a body above the limit of the "
    "gateway, 500 or 503 if a function did not run."
)
_KEY: Final = (
    "`Authorization: Bearer pd_<key id>_<secret>`. A key belongs to one tenant and has scopes. It may be "
    "bound to accounts: then it pays from no other, and administers no other. An operator's key belongs to no tenant: "
    "each request names in the header `Postdate-Tenant` the one that it acts for."
)
_INTERNAL: Final = "`X-Internal-Auth: pd_<key id>_<secret>`, of a key with the scope `internal`."
_NO_KEY: Final = "A request without any Authorization is answered by the gateway, and not with a problem."
_MESSAGE: Final = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}
_OF_GATEWAY: Final = {"application/json": {"schema": _MESSAGE}}
_RATE_LIMITED: Final = {
    "description": "quota_exceeded, or rate_limited for a key with a limit of requests. Or the gateway's rate is used "
    "up, which is not a problem.",
    "headers": {
        name: {"$ref": f"#/components/headers/{name}"}
        for name in ("Retry-After", "RateLimit-Policy", "RateLimit")
    },
    "content": {
        "application/problem+json": {
            "schema": {"$ref": f"{_SCHEMAS}Problem"},
            "examples": {
                code: {"$ref": f"#/components/examples/{code}"} for code in ("quota_exceeded", "rate_limited")
            },
        },
        **_OF_GATEWAY,
    },
}


def _described(operation: Operation) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [TAGS[operation.name]],
        "summary": operation.summary,
        "description": operation.text,
        "security": [{operation.scheme: [] if operation.scope == ANY else [operation.scope]}]
        if operation.scope is not None
        else [],
        "responses": {str(operation.status): _success(operation)} | _failures(operation),
    }
    if operation.parameters:
        described["parameters"] = [
            {"$ref": f"#/components/parameters/{name}"} for name in operation.parameters
        ]
    if operation.body:
        name = operation.body.__name__
        content = {"schema": _ref(name), "examples": operation.examples}
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
            "content": {"application/problem+json": {"schema": _ref("Problem"), "examples": shown}},
        }
    if operation.scheme == "key":
        failures["401"]["description"] += f". {_NO_KEY}"
        failures["401"]["content"] |= _OF_GATEWAY
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


class _Schemas(GenerateJsonSchema):
    """Fields have no titles. An answer of several types is exactly one of them."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def union_schema(self, schema: Any) -> dict[str, Any]:
        made = super().union_schema(schema)
        if all("$ref" in each for each in made.get("anyOf", [{}])):
            made["oneOf"] = made.pop("anyOf")
        return made


def _forms() -> dict[str, Any]:
    _, generated = models_json_schema(
        [(form, "validation") for form in FORMS],
        ref_template=f"{_SCHEMAS}{{model}}",
        schema_generator=_Schemas,
    )
    schemas: dict[str, Any] = generated["$defs"]
    for schema in schemas.values():
        for name, field in schema.get("properties", {}).items():
            if "description" not in field:
                field["description"] = fields.MEANINGS[to_snake(name)]
    schemas["BatchForm"]["properties"]["tasks"]["items"] = _ref("BatchTaskForm")
    schemas["AccountBatchForm"]["properties"]["accounts"]["items"] = _ref("AccountForm")
    schemas["PaymentBatchForm"]["properties"]["payments"]["items"] = _ref("BatchPaymentForm")
    return schemas


def _generated() -> dict[str, Any]:
    """The schemas of the types that routes return, and of those inside them."""
    types = {each: None for operation in OPERATIONS for each in operation.answer_types}
    _, generated = TypeAdapter.json_schemas(
        [(each, "serialization", TypeAdapter(each)) for each in types],
        ref_template=f"{_SCHEMAS}{{model}}",
        schema_generator=_Schemas,
    )
    schemas: dict[str, Any] = generated["$defs"]
    for schema in schemas.values():
        del schema["title"]
    return schemas


def _answers(codes: list[str]) -> dict[str, Any]:
    return {
        **_generated(),
        "Problem": problems.schema(codes),
        "Health": shapes.every(status={"const": "ok"}),
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"{_SCHEMAS}{name}"}
