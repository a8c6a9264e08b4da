"""Limit of the time that a delivery may wait for its answer: 60 seconds, unless the environment says more."""

from collections.abc import Iterator

import pytest

from functions.api.wiring import wired
from tests.integration.test_api_recurring import TASKS, recur
from tests.integration.world import Answer, Client


@pytest.fixture
def earlier(client: Client) -> Iterator[None]:
    """An environment that allows 900 seconds, as every environment did before."""
    kept, wired().response_timeout_seconds_max = wired().response_timeout_seconds_max, 900
    yield
    wired().response_timeout_seconds_max = kept


def refused(answer: Answer) -> list[str]:
    assert (answer.status, answer.body["code"]) == (422, "validation_failed")
    return [error["field"] for error in answer.body["errors"]]


def test_an_answer_is_waited_for_60_seconds_and_an_acknowledgement_900(client: Client) -> None:
    assert refused(client.register(timeout_seconds=61)) == ["timeout_seconds"]
    assert client.register(timeout_seconds=60).status == 201
    assert client.register(timeout_seconds=900, ack="explicit").status == 201
    assert refused(recur(client, timeout_seconds=61)) == ["timeout_seconds"]
    assert recur(client, timeout_seconds=900, ack="explicit").status == 201


@pytest.mark.usefixtures("earlier")
def test_the_environment_may_allow_more(client: Client) -> None:
    assert client.register(timeout_seconds=900).status == 201


def test_a_plan_cannot_be_changed_to_wait_longer(client: Client) -> None:
    path = f"{TASKS}/{recur(client, timeout_seconds=900, ack='explicit').body['task_id']}"
    assert refused(client.call("PATCH", path, {"ack": "response"})) == ["timeout_seconds"]
    answer = client.call("PATCH", path, {"ack": "response", "timeout_seconds": 60})
    assert (answer.status, answer.body["ack"], answer.body["timeout_seconds"]) == (200, "response", 60)


def test_what_was_stored_before_keeps_its_timeout(
    client: Client, earlier: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = client.call("POST", TASKS, _form(client), {"idempotency-key": "k"}).body["task_id"]
    path = f"{TASKS}/{recur(client, timeout_seconds=900).body['task_id']}"
    monkeypatch.setattr(wired(), "response_timeout_seconds_max", 60)
    assert client.get(f"{TASKS}/{once}").body["timeout_seconds"] == 900
    again = client.call("POST", TASKS, _form(client), {"idempotency-key": "k"})
    assert (again.status, again.headers["idempotent-replayed"]) == (201, "true")
    renamed = client.call("PATCH", path, {"name": "n"})
    assert (renamed.status, renamed.body["timeout_seconds"]) == (200, 900)


def _form(client: Client) -> dict[str, object]:
    return {"delay_seconds": 600, "target": client.target, "timeout_seconds": 900}
