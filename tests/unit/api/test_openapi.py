import json
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from pydantic.alias_generators import to_snake

from functions.api import errors, openapi
from functions.api.forms import Form
from functions.api.handler import app
from functions.api.jobs.forms import JobFlowControlForm, JobRetryForm
from functions.api.reference import schemas
from functions.api.reference.operations import OPERATIONS
from functions.api.reference.problems import ALWAYS, ERRORS, OF_BODIES
from functions.api.tasks import targets
from functions.api.tasks.examples import BATCH
from functions.api.tasks.forms import BatchTaskForm
from postdate.domain.account import AMOUNT_CAP
from tests.described import DESCRIPTION

DOCUMENT = DESCRIPTION
FORMS = [
    *schemas.FORMS,
    *targets.FORMS.values(),
    *targets.CAMEL_FORMS.values(),
    *(JobRetryForm, JobFlowControlForm),
    *(form for form in Form.__subclasses__() if form.model_fields and not form.__subclasses__()),
]
SCHEMAS = DOCUMENT["components"]["schemas"]
WAYS = {
    "TaskForm": "`run_at`, `delay_seconds` and `cron`",
    "BatchTaskForm": "`run_at`, `delay_seconds` and `cron`",
    "JobForm": "`runAt`, `delaySeconds` and `cron`",
    "PreviewForm": "`cron` and `task_id`",
    "PaymentForm": "`scheduled_time` and `delay_seconds`",
    "BatchPaymentForm": "`scheduled_time` and `delay_seconds`",
}
# An alternative around a whole form would make each of its branches a class of a generated client.
FLAT = {"type", "title", "description", "properties", "required", "additionalProperties"}
METHODS = [(path, method, told) for path, ways in DOCUMENT["paths"].items() for method, told in ways.items()]


def fits(name: str, value: Any) -> bool:
    schema = {"$ref": f"#/components/schemas/{name}", "components": DOCUMENT["components"]}
    return Draft202012Validator(schema).is_valid(value)


def get(path: str) -> dict[str, Any]:
    http = {"method": "GET", "path": path}
    event = {
        "version": "2.0",
        "rawPath": path,
        "headers": {},
        "requestContext": {"http": http, "stage": "$default"},
    }
    return app.resolve(event, SimpleNamespace())


def routes() -> set[tuple[str, str]]:
    known = app._static_routes + app._dynamic_routes
    paths = {(re.sub("<(.+?)>", r"{\1}", route.path), route.method.lower()) for route in known}
    # The files of the console's page are no operations.
    return paths - {("/console/{file}", "get")}


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)


def test_the_description_and_the_routes_name_the_same_operations() -> None:
    assert {(path, method) for path, method, _ in METHODS} == routes()


def test_the_pages_need_no_key_and_are_served_as_what_they_are() -> None:
    description, page = get("/openapi.json"), get("/docs")
    assert json.loads(description["body"]) == DOCUMENT
    assert description["headers"]["Content-Type"] == "application/json"
    assert page["headers"]["Content-Type"] == "text/html; charset=utf-8"
    assert page["headers"]["Content-Security-Policy"].startswith(
        "default-src 'none'; connect-src 'self'; script-src 'sha256-"
    )


def test_the_page_loads_nothing_from_anywhere_else() -> None:
    page = get("/docs")["body"]
    assert not re.search(r"https?://|//[a-z]|@import|url\(", re.sub(r"(?m)^\s*//.*$", "", page))


def test_the_description_costs_other_requests_nothing() -> None:
    api = Path("functions/api")
    routes_of_resources = list(api.rglob("*routes.py"))
    assert routes_of_resources
    for path in (api / "handler.py", api / "pages.py", *routes_of_resources):
        before_functions = path.read_text().partition("\ndef ")[0]
        assert "openapi import" not in before_functions
        assert "import openapi" not in before_functions


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_every_field_of_a_request_is_described(form: type[Form]) -> None:
    described = SCHEMAS[form.__name__]
    assert set(described["properties"]) == {field.alias or name for name, field in form.model_fields.items()}
    assert all(field["description"] for field in described["properties"].values())
    assert described["additionalProperties"] is False


def test_no_meaning_is_kept_of_a_field_that_is_gone() -> None:
    known = {
        to_snake(field.alias or name)
        for form in FORMS
        for name, field in form.model_fields.items()
        if field.description is None
    }
    assert set(openapi.fields.MEANINGS) == known


def test_the_examples_of_requests_are_taken() -> None:
    forms = {form.__name__: form for form in schemas.FORMS}
    shown = {each.body.__name__: each.examples for each in OPERATIONS if each.body}
    for name, examples in shown.items():
        assert examples, name
        for example in examples.values():
            forms[name].model_validate_json(json.dumps(example["value"]))
            assert fits(name, example["value"])
    for task in BATCH["two"]["value"]["tasks"]:
        BatchTaskForm.model_validate_json(json.dumps(task))


ANSWERS = openapi.examples.answers() | {each.answers[0]: each.example for each in OPERATIONS if each.example}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_are_made_as_they_are_described(name: str) -> None:
    answer = ANSWERS[name]
    assert fits(name, answer)
    assert set(SCHEMAS[name]["required"]) <= set(answer) <= set(SCHEMAS[name]["properties"])


def test_a_form_is_one_flat_schema_and_states_its_rules_in_words() -> None:
    bodies = {told["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
              for _, _, told in METHODS if "requestBody" in told}  # fmt: skip
    assert bodies >= {"TaskForm", "ChangeForm", "PaymentForm", "JobForm", "PreviewForm"}
    for name in {*bodies, "BatchTaskForm", "BatchPaymentForm"}:
        assert SCHEMAS[name].keys() <= FLAT
    for name, ways in WAYS.items():
        assert "xactly one of " + ways in SCHEMAS[name]["description"]


def test_every_operation_has_one_tag_that_is_described() -> None:
    described = {tag["name"] for tag in DOCUMENT["tags"] if tag["description"]}
    assert {tuple(told["tags"]) for _, _, told in METHODS} == {(name,) for name in described}


def test_the_gateways_429_is_described_once() -> None:
    told = [operation["responses"]["429"] for _, _, operation in METHODS if operation["security"]]
    assert all(answer == {"$ref": "#/components/responses/RateLimited"} for answer in told)
    assert len(told) > 40


@pytest.mark.parametrize("form", ["PaymentForm", "BatchPaymentForm"])
def test_an_amount_has_its_bounds(form: str) -> None:
    payment = {"from_account_id": "a", "to_account_id": "b", "amount": AMOUNT_CAP, "delay_seconds": 5}
    assert fits(form, payment)
    for wrong in (AMOUNT_CAP + 1, 0):
        assert not fits(form, payment | {"amount": wrong})


def test_requests_that_move_money_need_an_idempotency_key() -> None:
    for path in ("payments/schedule", "accounts/{account_id}/deposits", "accounts/{account_id}/adjustments"):
        named = {each["$ref"] for each in DOCUMENT["paths"][f"/api/v1/{path}"]["post"]["parameters"]}
        assert "#/components/parameters/IdempotencyKeyNeeded" in named
    assert DOCUMENT["components"]["parameters"]["IdempotencyKeyNeeded"]["required"]


def test_every_error_has_its_code_documented_and_looks_like_its_schema() -> None:
    problems = DOCUMENT["components"]["examples"]
    codes = {
        "unavailable" if status == 503 and family.code != "read_only" else family.code
        for family, status in errors.STATUS.items()
    }
    assert set(problems) == codes | {"internal"}
    assert len(problems) == len(ERRORS)
    for code, told in problems.items():
        assert told["value"]["type"] == f"/docs#{code}"
        assert fits("Problem", told["value"])


# A preview writes nothing, and the switch must be turned back.
SERVED_WHILE_READ_ONLY = {"previewTask", "turnSwitch"}


def test_every_operation_names_the_problems_it_answers() -> None:
    for operation in OPERATIONS:
        answers = DOCUMENT["paths"][operation.path][operation.method]["responses"]
        named = {
            code
            for answer in answers.values()
            for content in answer.get("content", {}).values()
            for code in content.get("examples", ())
        }
        of_body = OF_BODIES if operation.body else ()
        of_writes = {"read_only"} if operation.method != "get" else set()
        of_writes -= {"read_only"} if operation.name in SERVED_WHILE_READ_ONLY else set()
        every = {*operation.codes, *of_body, *ALWAYS[operation.scheme], *of_writes}
        assert named == (set() if operation.scope is None else every)


def test_an_answer_201_links_to_the_operations_on_the_new_resource() -> None:
    linked = {
        name: answer["links"]
        for _, _, told in METHODS
        for name in [told["operationId"]]
        for answer in [told["responses"].get("201", {})]
        if "links" in answer
    }
    assert set(linked) >= {"registerTask", "schedulePayment", "openAccount", "registerJob", "triggerTask"}
    assert {"getTask", "changeTask", "cancelTask", "listRuns"} <= set(linked["registerTask"])
    parameters = {operation.name: set(re.findall(r"{(.+?)}", operation.path)) for operation in OPERATIONS}
    for source, links in linked.items():
        ((answer, *_),) = [operation.answers for operation in OPERATIONS if operation.name == source]
        for target, link in links.items():
            assert set(link["parameters"]) == parameters[target]
            for pointer in link["parameters"].values():
                assert pointer.removeprefix("$response.body#/") in SCHEMAS[answer]["required"]


def test_the_one_refusal_of_the_gateway_is_described_beside_ours() -> None:
    for operation in OPERATIONS:
        kinds = (
            DOCUMENT["paths"][operation.path][operation.method]["responses"].get("401", {}).get("content", {})
        )
        ours, gateways = "application/problem+json" in kinds, "application/json" in kinds
        assert ours is (operation.scope is not None)
        assert gateways is (operation.scope is not None and operation.scheme == "key")
    assert "401 for a request without an `Authorization` header" in DOCUMENT["info"]["description"]


def test_answers_that_may_be_repeated_have_retry_after() -> None:
    registered = DOCUMENT["paths"]["/api/v1/tasks"]["post"]["responses"]
    assert {
        status for status, answer in registered.items() if "Retry-After" in answer.get("headers", {})
    } == {"409", "503"}
    assert "WWW-Authenticate" in registered["401"]["headers"]


def test_the_version_is_the_projects() -> None:
    assert tomllib.loads(Path("pyproject.toml").read_text())["project"]["version"] == openapi.VERSION
