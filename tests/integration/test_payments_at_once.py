"""Many at the same money at the same time, each on a thread of its own."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from cli import tenants
from tests.integration.money import assert_sound, balances, calls, payments
from tests.integration.world import Answer, Client, World, again


def at_once(*callers: Callable[[], Any]) -> list[Any]:
    with ThreadPoolExecutor(len(callers)) as pool:
        return [future.result() for future in [pool.submit(caller) for caller in callers]]


@pytest.fixture
def internal(world: World) -> str:
    return tenants.internal_token(world.key_table)


def execute(client: Client, payment_id: str, token: str, execution_id: str) -> Answer:
    path = f"/api/v1/internal/payments/{payment_id}/execute"
    return client.call("POST", path, {"execution_id": execution_id}, {"x-internal-auth": token})


def test_a_payment_that_everybody_settles_at_once_moves_money_once(
    world: World, client: Client, internal: str
) -> None:
    client.accounts(alice=100, bob=0)
    ids = [client.pay(key=f"order-{number}").body["payment_id"] for number in range(8)]
    records = calls(world, client)
    time.sleep(1.05)
    at_once(
        lambda: world.settle(records),
        lambda: world.settle(records),
        lambda: world.settle(again(records)),
        *(partial(execute, client, id, internal, f"by-hand-{number}") for number in (1, 2) for id in ids),
    )
    found = [client.get(f"/api/v1/payments/{id}").body for id in ids]
    assert [(each["status"], each["version"]) for each in found] == [("COMPLETED", 2)] * 8
    assert balances(client, "alice", "bob") == [(20, 0), (80, 0)]
    assert len(client.get("/api/v1/accounts/bob/transactions").body["transactions"]) == 8
    assert_sound(client)


def test_of_a_cancel_and_a_settlement_at_once_exactly_one_wins(world: World, client: Client) -> None:
    client.accounts(alice=100, bob=0)
    answers = [client.pay(key=f"order-{number}") for number in range(8)]
    records = calls(world, client)
    time.sleep(1.05)
    cancels = [f"/api/v1/payments/{answer.body['payment_id']}/cancel" for answer in answers]
    settled, *cancelled = at_once(
        lambda: world.settle(records), *(lambda path=path: client.call("DELETE", path) for path in cancels)
    )
    assert settled == []
    statuses = {each["payment_id"]: each["status"] for each in payments(client)}
    for answer, cancel in zip(answers, cancelled, strict=True):
        won = statuses[answer.body["payment_id"]]
        assert (cancel.status, won) in ((200, "CANCELLED"), (409, "COMPLETED"))
    completed = list(statuses.values()).count("COMPLETED")
    assert balances(client, "alice", "bob") == [(100 - 10 * completed, 0), (10 * completed, 0)]
    assert_sound(client)


def test_after_an_outage_no_payment_is_paid_from_money_that_was_due_later(
    world: World, client: Client
) -> None:
    """Both calls arrive after both instants, in one batch."""
    client.accounts(alice=0, bob=50, carol=0)
    early = {"from_account_id": "alice", "to_account_id": "carol", "funding": "at_execution"}
    late = {"from_account_id": "bob", "to_account_id": "alice", "delay_seconds": 2}
    assert client.pay(key="late", amount=50, **late).status == 201
    assert client.pay(key="early", amount=50, **early).status == 201
    records = calls(world, client)
    time.sleep(2.05)
    assert world.settle(records) == []
    told = {each["to_account_id"]: (each["status"], each["error_code"]) for each in payments(client)}
    assert told == {"carol": ("FAILED", "insufficient_funds"), "alice": ("COMPLETED", None)}
    assert balances(client, "alice", "bob", "carol") == [(50, 0), (0, 0), (0, 0)]
    assert_sound(client)
