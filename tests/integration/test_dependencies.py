"""A table that throttles: its breaker opens, the overview shows it, messages wait in SQS, and it closes."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from functions.settle.handler import wired as settlers
from postdate.domain.dependency import OF_TABLES
from postdate.runtime import dependencies
from postdate.runtime.clock import SystemClock
from tests.boundary import Boundary, Fault, refused, unreachable
from tests.integration.money import balances, calls
from tests.integration.world import Client, World

THROTTLED: Final = refused("ThrottlingException")
CALLS: Final = ("BatchGetItem", "GetItem", "Query", "TransactWriteItems")


@pytest.fixture
def operator(world: World, client: Client) -> Iterator[Client]:
    """Begins and ends with no dependency that fails: other tests of this world make some fail as well."""
    _forget(world)
    yield Client(tenant=client.tenant, scopes="ops", operates=True)
    _forget(world)


def _forget(world: World) -> None:
    dependencies.of_this_process().forget()
    rows = world.dynamodb.query(
        TableName=world.tables["flow"],
        KeyConditionExpression="tenant = :owner",
        ExpressionAttributeValues={":owner": {"S": "@service"}},
    )["Items"]
    for row in rows:
        key = {"tenant": row["tenant"], "name": row["name"]}
        world.dynamodb.delete_item(TableName=world.tables["flow"], Key=key)


def failing(operator: Client) -> list[tuple[str, str]]:
    answer = operator.get("/api/v1/ops/overview")
    assert answer.status == 200, answer.body
    return [(each["name"], each["function"]) for each in answer.body["dependencies"]]


def of_payments(world: World, boundary: Boundary, fault: Fault) -> None:
    """Every call that names the table of payments meets this fault."""
    boundary.fail(
        CALLS,
        *[fault] * 500,
        when=lambda call: call.names(world.tables["payments"]),
    )


@pytest.mark.parametrize("fault", [THROTTLED, unreachable], ids=["throttled", "unreachable"])
def test_a_table_that_fails_opens_its_breaker_shows_and_closes(
    world: World,
    client: Client,
    operator: Client,
    boundary: Boundary,
    fault: Fault,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The breakers' clock stands while the table fails, so that a slow machine has no time for a try."""
    client.accounts(alice=100, bob=0)
    assert client.pay(key="a", delay_seconds=1).status == 201
    name = f"reads:{world.tables['payments']}"
    assert failing(operator) == []
    of_this_process, now = dependencies.of_this_process(), datetime.now(UTC)
    monkeypatch.setattr(of_this_process, "_now", lambda: now)
    of_payments(world, boundary, fault)
    for _ in range(OF_TABLES.failures):
        assert client.get("/api/v1/payments", "limit=1").status == 503
    assert failing(operator) == [(name, "api")]

    time.sleep(1)
    records, sent = calls(world, client), len(boundary.calls)
    assert len(records) == 1
    assert client.get("/api/v1/payments", "limit=1").status == 503
    assert world.settle(records) == [], "the message is not given back, so no receive counts"
    named = [call for call in boundary.calls[sent:] if call.operation in CALLS]
    assert not [call for call in named if call.names(world.tables["payments"])], "nothing is sent"
    assert len(world.sent(boundary.calls[sent:], "payments")) == 1, "the call waits in SQS"

    boundary._plans.clear()
    monkeypatch.setattr(of_this_process, "_now", SystemClock().now)
    deadline = time.monotonic() + 30
    while balances(client, "alice", "bob") != [(90, 0), (10, 0)]:
        assert time.monotonic() < deadline
        world.settle(calls(world, client))
        time.sleep(0.2)
    assert client.get("/api/v1/payments", "limit=1").status == 200
    assert failing(operator) == []


def test_refusals_and_conflicts_are_answers(world: World, client: Client, boundary: Boundary) -> None:
    """Otherwise one hot account would stop the payments of all."""
    client.accounts(alice=100, bob=0)
    reasons: list[Any] = [{"Code": "TransactionConflict"}, {"Code": "None"}, {"Code": "None"}]
    conflict = refused("TransactionCanceledException", CancellationReasons=reasons)
    for fault in (conflict, refused("ValidationException"), refused("ConditionalCheckFailedException")):
        boundary.fail("TransactWriteItems", *[fault] * 60)
        for number in range(4):
            client.pay(key=f"{number}")
        boundary._plans.clear()
    assert dependencies.of_this_process().open_until(settlers().needs) is None


def test_a_batch_of_which_nothing_is_read_is_a_failure_of_its_table(world: World, client: Client) -> None:
    told = dependencies._answers(
        ["reads:a", "reads:b", "reads:c"],
        {"Responses": {"b": [{}]}, "UnprocessedKeys": {"a": {"Keys": [1]}, "b": {"Keys": [1]}}},
    )
    assert told == {"reads:a": "Throttling", "reads:b": None, "reads:c": None}


@pytest.mark.parametrize(
    ("parts", "parsed", "told"),
    [
        (["writes:a"], {"Error": {"Code": "ProvisionedThroughputExceededException"}}, ["writes:a"]),
        (["writes:a"], {"Error": {"Code": "AccessDeniedException"}}, []),
        (["s3"], {"Error": {"Code": "NoSuchKey"}, "ResponseMetadata": {"HTTPStatusCode": 404}}, []),
        (["s3"], {"Error": {"Code": "SlowDown"}, "ResponseMetadata": {"HTTPStatusCode": 503}}, ["s3"]),
        (["s3"], {"Error": {"Code": "503"}, "ResponseMetadata": {"HTTPStatusCode": 503}}, ["s3"]),
        (
            ["writes:a", "writes:b"],
            {
                "Error": {"Code": "TransactionCanceledException"},
                "CancellationReasons": [{"Code": "ThrottlingError"}, {"Code": "None"}],
            },
            ["writes:a"],
        ),
        (
            ["writes:a", "writes:a"],
            {"Responses": [{"Error": {"Code": "ThrottlingError"}}, {"TableName": "a"}]},
            [],
        ),
        (["writes:a"], {"Responses": [{"Error": {"Code": "ThrottlingError"}}]}, ["writes:a"]),
    ],
)
def test_the_failing_parts_of_a_call_are_told_apart(
    parts: list[str], parsed: dict[str, Any], told: list[str]
) -> None:
    assert [name for name, error in dependencies._answers(parts, parsed).items() if error] == told


def test_a_table_is_found_in_every_kind_of_call() -> None:
    for operation, params, found in (
        ("GetItem", {"TableName": "t"}, "reads:t"),
        ("UpdateItem", {"TableName": "t"}, "writes:t"),
        ("BatchGetItem", {"RequestItems": {"t": {}}}, "reads:t"),
        ("BatchWriteItem", {"RequestItems": {"t": []}}, "writes:t"),
        ("TransactWriteItems", {"TransactItems": [{"Put": {"TableName": "t"}}]}, "writes:t"),
        ("BatchExecuteStatement", {"Statements": [{"Statement": 'UPDATE "t" SET a = 1'}]}, "writes:t"),
        (
            "ExecuteTransaction",
            {"TransactStatements": [{"Statement": "INSERT INTO \"t\" VALUE {'a': ?}"}]},
            "writes:t",
        ),
        ("ExecuteStatement", {"Statement": 'SELECT * FROM "t"."by_tenant"'}, "reads:t"),
    ):
        assert dependencies._tables(operation, params) == [found]


def test_reads_are_answered_while_writes_are_throttled(
    client: Client, operator: Client, boundary: Boundary
) -> None:
    client.accounts(alice=100, bob=0)
    payment = client.pay(key="a", delay_seconds=600).body["payment_id"]
    boundary.fail("TransactWriteItems", *[THROTTLED] * 500)
    for number in range(OF_TABLES.failures):
        assert client.pay(key=f"{number}").status == 503
    assert {name.partition(":")[0] for name, _ in failing(operator)} == {"writes"}
    assert client.get(f"/api/v1/payments/{payment}").status == 200
