import json
from collections.abc import Iterator

import pytest

from functions.api.errors import answer, problem
from postdate.domain import errors
from postdate.domain.errors import PostdateError
from postdate.targets import guard  # noqa: F401 (the classes that destinations add)

FAMILIES = {errors.Rejected}
OF_NO_REQUEST = errors.NotRecoverable
EXAMPLES = {
    errors.RateLimited: errors.RateLimited(retry_seconds=1),
    errors.QuotaExceeded: errors.QuotaExceeded(quota="registered", most=1, window_seconds=1),
    errors.ValidationFailed: errors.ValidationFailed([("amount", "is too large"), ("b", "is missing")]),
    errors.LimitExceeded: errors.LimitExceeded([("amount", "is 1 to 500 for this account")]),
    errors.InvalidState: errors.InvalidState("DEAD", "a task that is DEAD cannot be changed"),
}
ON_THE_WIRE = {
    errors.ReadOnly: (503, "read_only"),
    errors.Malformed: (400, "malformed"),
    errors.ValidationFailed: (422, "validation_failed"),
    errors.Unauthenticated: (401, "unauthenticated"),
    errors.Forbidden: (403, "forbidden"),
    errors.NotFound: (404, "not_found"),
    errors.InvalidState: (409, "invalid_state"),
    errors.VersionMismatch: (412, "version_conflict"),
    errors.LimitExceeded: (422, "limit_exceeded"),
    errors.IdempotencyKeyMissing: (400, "idempotency_key_missing"),
    errors.InsufficientFunds: (409, "insufficient_funds"),
    errors.AccountFrozen: (409, "account_frozen"),
    errors.BooksDisagree: (409, "books_disagree"),
    errors.MethodNotAllowed: (405, "method_not_allowed"),
    errors.IdempotencyKeyReused: (422, "idempotency_key_reused"),
    errors.IdempotencyInProgress: (409, "idempotency_in_progress"),
    errors.DestinationNotAllowed: (422, "destination_not_allowed"),
    errors.LoopRefused: (422, "loop_refused"),
    errors.QuotaExceeded: (429, "quota_exceeded"),
    errors.RateLimited: (429, "rate_limited"),
    errors.PayloadTooLarge: (413, "payload_too_large"),
    errors.UnsupportedMediaType: (415, "unsupported_media_type"),
    errors.Conflict: (503, "unavailable"),
    errors.Unavailable: (503, "unavailable"),
}


def below(family) -> Iterator[type[PostdateError]]:
    for each in family.__subclasses__():
        yield each
        yield from below(each)


def example(kind):
    return EXAMPLES.get(kind) or kind("told")


OURS = sorted(
    (kind for kind in set(below(PostdateError)) - FAMILIES if not issubclass(kind, OF_NO_REQUEST)),
    key=lambda kind: kind.__name__,
)


@pytest.mark.parametrize("kind", OURS)
def test_every_error_has_a_status_and_a_code_of_the_contract(kind):
    told = problem(example(kind), "r-1")
    base = next(family for family in kind.__mro__ if family in ON_THE_WIRE)
    assert (told["status"], told["code"]) == ON_THE_WIRE[base]


def test_the_contract_names_no_error_that_is_gone():
    assert ON_THE_WIRE.keys() <= set(OURS)


@pytest.mark.parametrize("kind", OURS)
def test_every_problem_has_the_members_of_the_contract(kind):
    told = problem(example(kind), "r-1")
    assert {"type", "title", "status", "detail", "code", "request_id", "errors"} <= told.keys()
    assert told["request_id"] == "r-1"
    assert told["detail"]
    assert told["type"] == f"/docs#{told['code']}"


def test_a_validation_names_each_field():
    assert problem(example(errors.ValidationFailed), "r")["errors"] == [
        {"field": "amount", "message": "is too large"},
        {"field": "b", "message": "is missing"},
    ]


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        ("there is no task t1", "There is no task t1."),
        ("The account is frozen.", "The account is frozen."),
        ("/api/v1/tasks supports GET", "/api/v1/tasks supports GET."),
    ],
)
def test_a_detail_is_a_sentence(text, detail):
    assert problem(errors.NotFound(text), "r")["detail"] == detail


def test_the_detail_of_a_validation_begins_with_the_name_of_a_field():
    detail = "amount: is too large; b: is missing"
    assert problem(example(errors.ValidationFailed), "r")["detail"] == detail


def test_a_problem_cuts_long_parts_of_the_request():
    long = "x" * 100_000
    told = problem(errors.ValidationFailed([(long, long)] * 1_000), "r-1")
    assert len(json.dumps(told)) < 20_000


def test_a_refusal_for_its_state_tells_the_state():
    assert problem(example(errors.InvalidState), "r")["state"] == "DEAD"


class Foreign(Exception):
    code = "secret_code"


@pytest.mark.parametrize(
    "error",
    [
        ValueError("secret"),
        KeyError("secret"),
        Foreign("secret"),
        errors.Rejected("secret"),
        PostdateError("secret"),
        ExceptionGroup("secret", [ValueError("secret")]),
    ],
    ids=repr,
)
def test_an_error_that_is_not_for_the_caller_tells_nothing_of_itself(error):
    told = answer(error, "r-1")
    assert (told.status_code, json.loads(told.body)["code"]) == (500, "internal")
    assert "secret" not in told.body
    assert "r-1" in told.body


@pytest.mark.parametrize("kind", [errors.Unavailable, errors.Conflict])
def test_a_service_that_fails_is_not_named(kind):
    told = problem(kind("ProvisionedThroughputExceededException at table secret"), "r")
    assert "secret" not in json.dumps(told)
    assert "Throughput" not in json.dumps(told)


@pytest.mark.parametrize("kind", OURS)
def test_a_problem_that_may_pass_names_the_wait(kind):
    headers = answer(example(kind), "r").headers
    comes_back = errors.Conflict | errors.Unavailable | errors.QuotaExceeded | errors.RateLimited
    assert (headers.get("Retry-After") == "1") == issubclass(kind, comes_back)


def test_an_unknown_caller_is_told_how_to_show_a_key():
    assert answer(errors.Unauthenticated(), "r").headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("error", [errors.NotFound(), ValueError("x")], ids=repr)
def test_every_answer_is_a_problem(error):
    assert answer(error, "r").content_type == "application/problem+json"


@pytest.mark.parametrize("kind", OURS)
def test_a_class_without_a_word_of_its_own_says_what_its_docstring_says(kind):
    if kind not in EXAMPLES:
        assert str(kind()) == kind.__doc__
