"""A request has one fingerprint for ever: what was reserved under it by any release is known to every other."""

import json
from typing import Any, Final

import pytest
from pydantic import create_model

from functions.api.accounts.forms import AdjustmentForm, DepositForm
from functions.api.forms import Form, fingerprint, parsed
from functions.api.jobs.forms import JobForm
from functions.api.payments.forms import BatchPaymentForm, PaymentForm
from functions.api.tasks.fields import FlowControlForm, RetryForm
from functions.api.tasks.forms import BatchTaskForm, TaskForm
from functions.api.tasks.targets import FORMS

PAYMENT: Final = {"from_account_id": "alice", "to_account_id": "bob", "amount": 10}
WEBHOOK: Final = {"type": "webhook", "url": "https://example.com/"}
QUEUE: Final = {"type": "sqs", "queue_url": "https://sqs.us-east-1.amazonaws.com/123456789012/q"}
REQUESTS: Final[dict[str, tuple[type[Form], dict[str, Any]]]] = {
    "payment": (PaymentForm, {**PAYMENT, "delay_seconds": 60}),
    "payment with all fields": (
        BatchPaymentForm,
        {
            **PAYMENT,
            "scheduled_time": "2026-11-18T10:05:00.25+01:00",
            "description": "rent",
            "funding": "at_execution",
            "metadata": {"b": "2", "a": "1"},
            "idempotency_key": "k",
        },
    ),
    "task": (TaskForm, {"delay_seconds": 5, "target": WEBHOOK}),
    "task with forms inside": (
        BatchTaskForm,
        {
            "run_at": "2026-11-18T10:05:00Z",
            "target": QUEUE,
            "payload": {"max_attempts": 5, "n": [1, None]},
            "retry": {"max_attempts": 7, "initial_seconds": 1},
            "flow_control": {"key": "k", "rate": 3},
            "name": "n",
            "tags": ["t"],
            "idempotency_key": "k",
        },
    ),
    "recurring task": (
        TaskForm,
        {
            "cron": "0 9 * * 1",
            "timezone": "Europe/Berlin",
            "start_at": "2026-11-18T10:05:00Z",
            "max_runs": 3,
            "overlap": "queue",
            "catch_up": "all",
            "target": {**WEBHOOK, "method": "PUT", "headers": {"x-a": "1"}},
            "ack": "explicit",
            "timeout_seconds": 60,
        },
    ),
    "job": (
        JobForm,
        {
            "delaySeconds": 5,
            "target": {"type": "eventbridge", "bus": "b", "detailType": "d"},
            "payload": 1,
            "idempotencyKey": "k",
        },
    ),
    "job to a webhook": (JobForm, {"delaySeconds": 5, "target": WEBHOOK}),
    "job with forms inside": (
        JobForm,
        {
            "runAt": "2026-11-18T10:05:00Z",
            "target": {"type": "sqs", "queueUrl": QUEUE["queue_url"]},
            "payload": {"max_attempts": 5, "n": [1, None]},
            "retry": {"maxAttempts": 7, "initialSeconds": 1},
            "flowControl": {"key": "k", "rate": 3},
            "name": "n",
            "tags": ["t"],
        },
    ),
    "deposit": (DepositForm, {"amount": 100}),
    "adjustment": (AdjustmentForm, {"amount": -5, "reason": "counted again"}),
    "adjustment to the journal": (AdjustmentForm, {"to_journal": True, "reason": "lost"}),
}
# Written by the first release, which hashed every field with its default.
FIRST: Final = {
    "payment": "43f55bb86e123c1793ce756a56acb9f064dff367066158a4862ddac5963a6360",
    "payment with all fields": "2d0d5516c48438f9eeed94713d401a17b10c1105f662c6ddbe7960e1f7d3984f",
    "task": "b100a4a3b36fd4f92f3f8f7e8185b31ff024fbcad4cef3bb8d05f154b37894cd",
    "task with forms inside": "834c3be8e6891a4a57d278f304d5d419219bb41d1f80206d79f6335391617ef2",
    "recurring task": "8996d6d2d9c6aadc6b22d3152b3e2916ec00b8d178164281393932f8532dd9c4",
    "job": "3c204373e8aa817a8f653639bb83450ff0a84d8c6d08b507718832739f15eb27",
    # A job is the task that it is.
    "job to a webhook": "b100a4a3b36fd4f92f3f8f7e8185b31ff024fbcad4cef3bb8d05f154b37894cd",
    "job with forms inside": "834c3be8e6891a4a57d278f304d5d419219bb41d1f80206d79f6335391617ef2",
    "deposit": "c2101047ec15b3053f071f361be07c0a916bc8b9f3d9c6831da286f952401c87",
    "adjustment": "6c9b79b686685bac4a93f508c530c1d19052bb6698800fa60c0e842b57711963",
    "adjustment to the journal": "70d90186b351161df808054e1ecbaa5e5c7b3a306840b72b5201804bcfc36108",
}


def asked(form: type[Form], body: dict[str, Any]) -> str:
    about = ("alice",) if form in (DepositForm, AdjustmentForm) else ()
    return fingerprint(parsed(form, json.dumps(body)), *about)


def later(form: type[Form]) -> type[Form]:
    """The form in a later release, which adds a field."""
    return create_model(form.__name__, __base__=form, priority=(int, 3))


@pytest.mark.parametrize("name", REQUESTS)
def test_fingerprints_of_the_first_release_stay_the_same(name: str) -> None:
    assert asked(*REQUESTS[name]) == FIRST[name]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_field_that_a_later_release_adds_changes_no_request_without_it(name: str) -> None:
    form, body = REQUESTS[name]
    extended = create_model("Extended", __base__=later(form))
    assert fingerprint(parsed(extended, json.dumps(body))) == fingerprint(parsed(form, json.dumps(body)))
    told, other = body | {"priority": 3}, body | {"priority": 4}
    assert fingerprint(parsed(extended, json.dumps(told))) == fingerprint(parsed(form, json.dumps(body)))
    assert fingerprint(parsed(extended, json.dumps(other))) != fingerprint(parsed(form, json.dumps(body)))


@pytest.mark.parametrize(
    ("field", "inner", "given"),
    [
        ("retry", RetryForm, {"max_attempts": 7}),
        ("flow_control", FlowControlForm, {"key": "k", "rate": 3}),
        ("target", FORMS["webhook"], WEBHOOK),
    ],
)
def test_a_field_added_to_a_form_inside_another_changes_no_request_without_it(
    field: str, inner: type[Form], given: dict[str, Any]
) -> None:
    fields: dict[str, Any] = {field: (later(inner), ...)}
    extended = create_model("Extended", __base__=TaskForm, **fields)
    body = {"delay_seconds": 5, "target": WEBHOOK, field: given}
    assert asked(extended, body) == asked(TaskForm, body)
    assert asked(extended, body | {field: given | {"priority": 4}}) != asked(TaskForm, body)


def test_a_default_that_a_later_release_changes_changes_no_request_without_the_field() -> None:
    extended = create_model("Extended", __base__=TaskForm, timeout_seconds=(int, 45))
    body = {"delay_seconds": 5, "target": WEBHOOK}
    assert asked(extended, body) == asked(TaskForm, body)
    assert asked(extended, body | {"timeout_seconds": 60}) == asked(TaskForm, body | {"timeout_seconds": 60})
