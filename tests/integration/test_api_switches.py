"""Switches through the functions' handlers: what an operator stops stands still, and goes on in order."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from functions.api.wiring import wired
from functions.run_tasks.wiring import wired as runners
from functions.settle.handler import wired as settlers
from postdate.stores.key_text import bearer_text
from tests.boundary import Boundary, refused
from tests.integration.money import assert_sound, balances, calls
from tests.integration.test_api_errors import problem
from tests.integration.world import SECRET, Answer, Client, Record, World

PATH = "/api/v1/ops/switches"
WRITES = ("PutItem", "UpdateItem", "TransactWriteItems", "BatchExecuteStatement", "ExecuteTransaction")


@pytest.fixture
def operator(world: World, client: Client) -> Iterator[Client]:
    """Begins and ends without any switch: the world is common to all tests, and others turn some as well."""
    _without_switches(world)
    yield Client(tenant=client.tenant, scopes="ops", operates=True)
    _without_switches(world)


def _without_switches(world: World) -> None:
    for row in world.rows(world.tables["switches"]):
        world.dynamodb.delete_item(TableName=world.tables["switches"], Key={"name": row["name"]})
    forget()


def forget() -> None:
    """Each worker reads the switches again, as if its reading were old."""
    for given in (wired().guards, runners(), settlers()):
        given.switchboard.forget()


def turn(operator: Client, name: str, *, on: bool, reason: str = "test") -> dict[str, Any]:
    answer = operator.call("PUT", f"{PATH}/{name}", {"on": on, "reason": reason})
    assert answer.status == 200, answer.body
    forget()
    body: dict[str, Any] = answer.body
    return body


def seconds_until(instant: str) -> float:
    return (datetime.fromisoformat(instant) - datetime.now(UTC)).total_seconds()


def settled(world: World, client: Client, within: float) -> None:
    """Handles calls as they come, until no one comes any more."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        if records := calls(world, client):
            assert world.settle(records) == []
            delete(world, records)
        time.sleep(0.05)


def delete(world: World, records: list[Record]) -> None:
    for record in records:
        world.sqs.delete_message(QueueUrl=world.queues["payments"], ReceiptHandle=record["receiptHandle"])


def test_a_switch_is_turned_with_a_reason_and_tells_its_history(operator: Client) -> None:
    name = f"tenant:{operator.tenant}"
    assert operator.get(f"{PATH}/{name}").body["version"] == 0
    first = turn(operator, name, on=False, reason="fraud")
    assert (first["on"], first["on_at"], first["version"]) == (False, None, 1)
    again = turn(operator, name, on=False, reason="fraud, again")
    assert again == first
    turn(operator, name, on=True, reason="checked")
    shown = operator.get(f"{PATH}/{name}").body
    told = [(each["on"], each["reason"], each["by"]) for each in shown["history"]]
    assert told == [(True, "checked", f"key:{operator.key_id}"), (False, "fraud", f"key:{operator.key_id}")]
    assert [each["name"] for each in operator.get(PATH).body["switches"]] == [name]


def test_switches_are_the_operators_alone(client: Client, operator: Client) -> None:
    for answer in (
        client.get(PATH),
        client.get(f"{PATH}/settlement"),
        client.call("PUT", f"{PATH}/settlement", {"on": False, "reason": "mine"}),
    ):
        assert problem(answer) == (403, "forbidden")
    assert operator.get(f"{PATH}/settlement").body["version"] == 0


@pytest.mark.parametrize("name", ["everything", "target:fax", "tenant:", "target:backfill"])
def test_a_switch_that_nothing_asks_for_is_not_found(operator: Client, name: str) -> None:
    assert problem(operator.get(f"{PATH}/{name}")) == (404, "not_found")
    answer = operator.call("PUT", f"{PATH}/{name}", {"on": False, "reason": "x"})
    assert problem(answer) == (404, "not_found")


def test_the_overview_shows_a_switch_until_its_payments_are_caught_up(operator: Client) -> None:
    def shown() -> list[str]:
        return [each["name"] for each in operator.get("/api/v1/ops/overview").body["switches"]]

    assert shown() == []
    turn(operator, "target:sqs", on=False)
    assert shown() == ["target:sqs"]
    told = turn(operator, "target:sqs", on=True)
    assert shown() == ["target:sqs"]
    time.sleep(max(0.0, seconds_until(told["caught_up_at"])) + 0.05)
    assert shown() == []


@pytest.mark.parametrize("name", ["settlement", "tenant:{}"])
def test_stopped_payments_wait_and_are_settled_in_order(
    world: World, client: Client, operator: Client, name: str
) -> None:
    client.accounts(alice=0, bob=0, carol=100)
    turn(operator, name.format(client.tenant), on=False)
    # Each payment is possible only after the one before.
    people = ("carol", "alice", "bob")
    due_at = datetime.now(UTC) + timedelta(seconds=1)
    ids = [
        client.pay(
            key=f"k-{place}",
            amount=100,
            funding="at_execution",
            from_account_id=people[place % 3],
            to_account_id=people[(place + 1) % 3],
            scheduled_time=(due_at + timedelta(milliseconds=200 * place)).isoformat(),
        ).body["payment_id"]
        for place in range(5)
    ]
    settled(world, client, within=3)
    assert {client.get(f"/api/v1/payments/{id}").body["status"] for id in ids} == {"PENDING"}
    told = turn(operator, name.format(client.tenant), on=True)
    # All calls are back before the first payment is released. One worker has them here; on AWS many do.
    time.sleep(max(0.0, seconds_until(told["caught_up_at"]) - 0.5))
    settled(world, client, within=2)
    found = [client.get(f"/api/v1/payments/{id}").body for id in ids]
    assert [(each["status"], each["attempts"]) for each in found] == [("COMPLETED", 1)] * 5
    assert sorted(each["executed_at"] for each in found) == [each["executed_at"] for each in found]
    assert all(each["executed_at"] >= told["on_at"] for each in found)
    assert balances(client, "alice", "bob", "carol") == [(0, 0), (100, 0), (0, 0)]
    assert_sound(client)


def test_a_stopped_payment_cannot_be_executed_by_another_service(
    world: World, client: Client, operator: Client
) -> None:
    client.accounts(alice=100, bob=0)
    payment_id = client.pay(key="k").body["payment_id"]
    time.sleep(1.1)
    internal = Client(tenant="us", scopes="internal")
    turn(operator, "settlement", on=False)
    answer = executed(internal, payment_id)
    assert problem(answer) == (503, "unavailable")
    assert "Settlement is switched off" in answer.body["detail"]
    assert client.get(f"/api/v1/payments/{payment_id}").body["status"] == "PENDING"
    told = turn(operator, "settlement", on=True)
    time.sleep(max(0.0, seconds_until(told["caught_up_at"])))
    assert executed(internal, payment_id).body["status"] == "COMPLETED"


def executed(internal: Client, payment_id: str) -> Answer:
    path = f"/api/v1/internal/payments/{payment_id}/execute"
    token = bearer_text(internal.key_id, SECRET)
    return internal.call("POST", path, {"execution_id": "e-1"}, {"x-internal-auth": token})


@pytest.mark.parametrize("name", ["tenant:{}", "target:sqs"])
def test_stopped_tasks_wait_and_count_no_attempt(
    world: World, client: Client, operator: Client, name: str
) -> None:
    turn(operator, name.format(client.tenant), on=False)
    task_id = client.register().body["task_id"]
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    told = client.get(f"/api/v1/tasks/{task_id}").body
    assert (told["status"], told["attempts"]) == ("PENDING", 0)
    turn(operator, name.format(client.tenant), on=True)
    time.sleep(2.1)
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    told = client.get(f"/api/v1/tasks/{task_id}").body
    assert (told["status"], told["attempts"]) == ("SUCCEEDED", 1)


def test_writes_are_refused_within_two_seconds_and_reads_are_served(
    client: Client, operator: Client, boundary: Boundary
) -> None:
    client.accounts(alice=100)
    task_id = client.register().body["task_id"]
    # A journal is shown up to where it was shown before, because its first view writes a note.
    assert client.get("/api/v1/accounts/alice/transactions").status == 200
    began = time.monotonic()
    assert operator.call("PUT", f"{PATH}/api_writes", {"on": False, "reason": "upgrade"}).status == 200
    while (answer := client.register()).status == 201:
        assert time.monotonic() - began < 2
        time.sleep(0.02)
    assert problem(answer) == (503, "read_only")
    assert answer.headers["retry-after"] == "1"
    boundary.fail(WRITES, *[refused("ThrottlingException")] * 200)
    for path in (
        f"/api/v1/tasks/{task_id}",
        "/api/v1/tasks",
        "/api/v1/accounts/alice",
        "/api/v1/accounts/alice/transactions",
        "/api/v1/payments",
        "/api/v1/events",
        "/api/v1/limits",
        "/api/v1/overview",
        "/api/v1/audit",
        "/api/v1/whoami",
    ):
        assert client.get(path).status == 200, path
    preview = client.call("POST", "/api/v1/tasks/preview", {"cron": "@daily"})
    assert preview.status == 200
    boundary.clear()
    for method, path in (
        ("POST", "/api/v1/tasks"),
        ("DELETE", f"/api/v1/tasks/{task_id}"),
        ("POST", "/api/v1/payments/schedule"),
        ("POST", "/api/v1/accounts"),
        ("POST", "/v1/jobs"),
    ):
        assert problem(client.call(method, path, {})) == (503, "read_only"), path
    turn(operator, "api_writes", on=True)
    assert client.register().status == 201


def test_writes_are_served_while_the_switches_cannot_be_read(client: Client, boundary: Boundary) -> None:
    forget()
    boundary.admits = True
    boundary.fail(
        "BatchGetItem", *[refused("ThrottlingException")] * 20, when=lambda call: call.names("switches")
    )
    assert client.register().status == 201


def test_a_batch_of_payments_reads_the_switches_a_few_times_and_not_for_each(
    world: World, client: Client, operator: Client, boundary: Boundary
) -> None:
    client.accounts(alice=1000, bob=0)
    due_at = (datetime.now(UTC) + timedelta(seconds=2.9)).isoformat()
    for number in range(20):
        assert client.pay(key=f"k-{number}", amount=1, scheduled_time=due_at).status == 201
    records: list[Record] = []
    until = time.monotonic() + 10
    while len(records) < 20 and time.monotonic() < until:
        records += calls(world, client)
        time.sleep(0.05)
    forget()
    boundary.clear()
    boundary.admits = True
    assert world.settle(records) == []
    read = [
        asked for asked in boundary.asked("BatchGetItem") if world.tables["switches"] in asked["RequestItems"]
    ]
    names = [len(asked["RequestItems"][world.tables["switches"]]["Keys"]) for asked in read]
    assert set(names) == {2}
    assert len(names) <= 3
    assert balances(client, "bob") == [(20, 0)]
