"""While a release goes out, a request may be repeated at code that knows one more field than the code it met first."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

import pytest
from pydantic import create_model

from functions.api.accounts import money_routes as accounts
from functions.api.jobs import routes as jobs
from functions.api.payments import forms as payment_forms
from functions.api.payments import schedule_routes as payments
from functions.api.tasks import register_routes as tasks
from tests.integration.world import Answer, Client

KEY: Final = {"idempotency-key": "the-key"}
PAYMENT: Final = {"from_account_id": "alice", "to_account_id": "bob", "amount": 10, "delay_seconds": 60}
Change = Callable[[object, str, object], None]


def one(path: str, form: Mapping[str, Any], client: Client) -> Answer:
    told = dict(form)
    if "target" in told:
        told["target"] = client.target
    return client.call("POST", path, told, KEY)


def of_batch(path: str, name: str, form: Mapping[str, Any], client: Client) -> Answer:
    told = {**form, "idempotency_key": "the-key"}
    if "target" in told:
        told["target"] = client.target
    return client.call("POST", path, {name: [told]})


REQUESTS: Final[dict[str, tuple[Any, str, Callable[[Client], Answer]]]] = {
    "payment": (payments, "PaymentForm", partial(one, "/api/v1/payments/schedule", PAYMENT)),
    "payment of a batch": (
        payment_forms,
        "BatchPaymentForm",
        partial(of_batch, "/api/v1/payments/schedule/batch", "payments", PAYMENT),
    ),
    "deposit": (accounts, "DepositForm", partial(one, "/api/v1/accounts/alice/deposits", {"amount": 5})),
    "adjustment": (
        accounts,
        "AdjustmentForm",
        partial(one, "/api/v1/accounts/alice/adjustments", {"amount": 5, "reason": "counted"}),
    ),
    "task": (tasks, "TaskForm", partial(one, "/api/v1/tasks", {"delay_seconds": 60, "target": None})),
    "recurring task": (
        tasks,
        "TaskForm",
        partial(one, "/api/v1/tasks", {"cron": "0 9 * * *", "target": None}),
    ),
    "task of a batch": (
        tasks,
        "BatchTaskForm",
        partial(of_batch, "/api/v1/tasks/batch", "tasks", {"delay_seconds": 60, "target": None}),
    ),
    "job": (
        jobs,
        "JobForm",
        lambda client: client.call(
            "POST",
            "/v1/jobs",
            {
                "delaySeconds": 60,
                "idempotencyKey": "the-key",
                "target": client.job_target,
            },
        ),
    ),
}


@pytest.mark.parametrize("met_first", ["earlier", "later"])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_repeated_at_either_release(
    client: Client, monkeypatch: pytest.MonkeyPatch, name: str, met_first: str
) -> None:
    client.accounts(alice=100, bob=0)
    module, form, ask = REQUESTS[name]
    known = getattr(module, form)
    extended = create_model(form, __base__=known, priority=(int, 3))
    releases = (known, extended) if met_first == "earlier" else (extended, known)
    answers = []
    for release in releases:
        monkeypatch.setattr(module, form, release)
        answers.append(ask(client))
    first, second = answers
    assert first.status in (200, 201)
    assert [result for result in first.body.get("results", ()) if "error" in result] == []
    assert (second.status, second.body) == (first.status, first.body)


def test_a_field_that_only_the_later_release_has_makes_another_request(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.accounts(alice=100, bob=0)
    extended = create_model("PaymentForm", __base__=payments.PaymentForm, priority=(int, 3))
    monkeypatch.setattr(payments, "PaymentForm", extended)
    assert client.pay(key="k").status == 201
    assert client.pay(key="k", priority=3).status == 201
    refused = client.pay(key="k", priority=4)
    assert (refused.status, refused.body["code"]) == (422, "idempotency_key_reused")
