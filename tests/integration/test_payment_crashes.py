"""A crash, a lost answer or an error at every single call of AWS, one at a time: the next try finds what was done.

Each flow is run once to count its calls, and then once for each call and each kind of fault, on a tenant of its own.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import pytest

from tests.boundary import (
    Boundary,
    Call,
    Crash,
    Fault,
    crash_after,
    crash_before,
    done_but_500,
    lost,
    refused,
    unreachable,
)
from tests.integration.money import assert_sound, balances, calls, payments
from tests.integration.world import Answer, Client, Record, World, again

EVERYTHING: Final = frozenset(
    {
        "BatchGetItem",
        "ChangeMessageVisibilityBatch",
        "GetItem",
        "PutItem",
        "Query",
        "SendMessageBatch",
        "TransactWriteItems",
    }
)
SDK_TRIES: Final = 5
RETRY_SECONDS: Final = 1
FAULTS: Final[dict[str, list[Fault]]] = {
    "crash before": [crash_before],
    "crash after": [crash_after],
    "answer lost": [lost],
    "answers lost until the SDK gives up": [lost] * SDK_TRIES,
    "done, but 500": [done_but_500] * SDK_TRIES,
    "throttled": [refused("ThrottlingException")] * SDK_TRIES,
    "unreachable": [unreachable] * SDK_TRIES,
}
_tenants = count(1)


@dataclass(kw_only=True, slots=True)
class From:
    """The faults begin with the call of this number and meet the following calls of the same operation."""

    place: int
    seen: Iterator[int] = field(default_factory=count)
    operation: str | None = None

    def __call__(self, call: Call) -> bool:
        if next(self.seen) == self.place:
            self.operation = call.operation
        return self.operation == call.operation


@pytest.fixture
def new_client(world: World) -> Callable[[], Client]:
    def make() -> Client:
        client = world.tenant(f"crash-{next(_tenants)}-{time.time_ns() % 10**9}")
        client.accounts(alice=100, bob=0)
        return client

    return make


Flow = Callable[[], object]


def calls_of(flow: Flow, boundary: Boundary) -> int:
    boundary.clear()
    flow()
    return len(boundary.calls)


def broken(flow: Flow, boundary: Boundary, place: int, faults: list[Fault]) -> object:
    """The flow with these faults; None if its process died."""
    boundary.clear()
    boundary.fail(EVERYTHING, *faults, when=From(place=place))
    try:
        return flow()
    except Crash:
        return None
    finally:
        boundary.clear()


@pytest.mark.parametrize("name", FAULTS)
def test_a_payment_is_registered_once_whatever_its_registration_met(
    new_client: Callable[[], Client], boundary: Boundary, name: str
) -> None:
    known = new_client()
    number = calls_of(lambda: known.pay(key="order-7"), boundary)
    assert number >= 4
    for place in range(number):
        client = new_client()
        first = broken(lambda: client.pay(key="order-7"), boundary, place, FAULTS[name])  # noqa: B023
        answer = client.pay(key="order-7")
        assert answer.status == 201
        if isinstance(first, Answer) and first.status == 201:
            assert answer.body == first.body
        assert [each["payment_id"] for each in payments(client)] == [answer.body["payment_id"]]
        assert balances(client, "alice", "bob") == [(90, 10), (0, 0)]
        assert_sound(client)


def due_call(world: World, client: Client) -> list[Record]:
    """The call of a payment that is due in a second; the worker waits for the instant."""
    assert client.pay(key="order-7").status == 201
    return calls(world, client)


@pytest.mark.parametrize("name", FAULTS)
def test_a_payment_is_settled_once_whatever_its_settlement_met(
    world: World, new_client: Callable[[], Client], boundary: Boundary, name: str
) -> None:
    known = new_client()
    records = due_call(world, known)
    number = calls_of(lambda: world.settle(records), boundary)
    assert number >= 3
    broken_ones = [(client, due_call(world, client)) for client in (new_client() for _ in range(number))]
    for place, (client, records) in enumerate(broken_ones):
        failed = broken(lambda: world.settle(records), boundary, place, FAULTS[name])  # noqa: B023
        if payments(client)[0]["status"] == "PENDING":
            assert failed != []
    stumbled = [client for client, _ in broken_ones if payments(client)[0]["status"] == "EXECUTING"]
    if stumbled:
        time.sleep(RETRY_SECONDS + 0.1)
    for client, records in broken_ones:
        assert world.settle([*again(records), *calls(world, client)]) == []
        assert payments(client)[0]["status"] == "COMPLETED"
        assert world.settle(again(records)) == []
        assert balances(client, "alice", "bob") == [(90, 0), (10, 0)]
        assert len(client.get("/api/v1/accounts/bob/transactions").body["transactions"]) == 1
        assert_sound(client)


def test_a_message_of_a_worker_that_dies_comes_back_within_seconds(
    world: World, new_client: Callable[[], Client], boundary: Boundary
) -> None:
    """A lease is longer, and the queue's own time is fifteen minutes."""
    client = new_client()
    records = due_call(world, client)
    boundary.clear()
    boundary.fail("TransactWriteItems", crash_before)
    with pytest.raises(Crash):
        world.settle(records)
    (asked,) = boundary.asked("ChangeMessageVisibilityBatch")
    assert asked["QueueUrl"] == world.queues["payments"]
    assert [entry["VisibilityTimeout"] for entry in asked["Entries"]] in ([2], [3], [4])


def path_of(client: Client) -> str:
    (payment,) = payments(client)
    return f"/api/v1/payments/{payment['payment_id']}"


@pytest.mark.parametrize("name", FAULTS)
def test_a_hold_is_returned_once_whatever_its_cancel_met(
    new_client: Callable[[], Client], boundary: Boundary, name: str
) -> None:
    known = new_client()
    known.pay(key="order-7", delay_seconds=600)
    path = path_of(known)
    number = calls_of(lambda: known.call("DELETE", f"{path}/cancel"), boundary)
    assert number >= 2
    for place in range(number):
        client = new_client()
        assert client.pay(key="order-7", delay_seconds=600).status == 201
        path = path_of(client)
        broken(lambda: client.call("DELETE", f"{path}/cancel"), boundary, place, FAULTS[name])  # noqa: B023
        for _ in range(2):
            answer = client.call("DELETE", f"{path}/cancel")
            assert (answer.status, answer.body["status"]) == (200, "CANCELLED")
        assert balances(client, "alice") == [(100, 0)]
        assert_sound(client)


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_held_follows_the_amount_whatever_the_change_met(
    new_client: Callable[[], Client], boundary: Boundary, name: str
) -> None:
    change = {"amount": 25, "delay_seconds": 7200}
    known = new_client()
    known.pay(key="order-7", delay_seconds=600)
    path = path_of(known)
    number = calls_of(lambda: known.call("PATCH", path, change), boundary)
    assert number >= 2
    for place in range(number):
        client = new_client()
        assert client.pay(key="order-7", delay_seconds=600).status == 201
        path = path_of(client)
        broken(lambda: client.call("PATCH", path, change), boundary, place, FAULTS[name])  # noqa: B023
        answer = client.call("PATCH", path, change)
        assert (answer.status, answer.body["amount"]) == (200, 25)
        assert balances(client, "alice") == [(75, 25)]
        assert_sound(client)


@pytest.mark.parametrize("name", FAULTS)
def test_a_deposit_is_made_once_whatever_it_met(
    new_client: Callable[[], Client], boundary: Boundary, name: str
) -> None:
    def deposit(client: Client) -> Answer:
        path, key = "/api/v1/accounts/bob/deposits", {"idempotency-key": "salary-11"}
        return client.call("POST", path, {"amount": 40}, key)

    known = new_client()
    number = calls_of(lambda: deposit(known), boundary)
    assert number >= 2
    for place in range(number):
        client = new_client()
        broken(lambda: deposit(client), boundary, place, FAULTS[name])  # noqa: B023
        assert deposit(client).status == 201
        assert balances(client, "bob") == [(40, 0)]
        assert_sound(client)
