"""Requests that AWS refuses as a whole and the local engine takes. Amazon's own engine is asked as it is."""

import socket
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.boundary import Boundary
from tests.contract.conftest import OnAws
from tests.engines import Engines

_KEY = {"slot": {"S": "2026-11-18T10:05#00"}, "id": {"S": "refused"}}
_LONG = "9" * 39
_UPDATE = 'UPDATE "{}" SET "version"=? WHERE "slot"=? AND "id"=?'
_SELECT = 'SELECT * FROM "{}" WHERE "slot"=? AND "id"=?'


def _key(number: int) -> dict[str, Any]:
    return {**_KEY, "id": {"S": f"refused-{number}"}}


def _insert(table: str, number: int, **more: Any) -> dict[str, Any]:
    row = {**_key(number), **more}
    fields = ",".join(f"'{name}':?" for name in row)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{fields}}}', "Parameters": list(row.values())}


def _update(table: str) -> dict[str, Any]:
    return {"Statement": _UPDATE.format(table), "Parameters": [{"N": "1"}, *_KEY.values()]}


def _select(table: str) -> dict[str, Any]:
    return {"Statement": _SELECT.format(table), "Parameters": list(_key(9).values())}


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        ("batch_execute_statement", lambda t: {"Statements": [_update(t), _update(t)]}),
        ("batch_execute_statement", lambda t: {"Statements": [_insert(t, 1), _select(t)]}),
        ("batch_execute_statement", lambda t: {"Statements": [_insert(t, n) for n in range(26)]}),
        ("execute_transaction", lambda t: {"TransactStatements": [_insert(t, 1), _insert(t, 1)]}),
        ("execute_transaction", lambda t: {"TransactStatements": [_insert(t, n) for n in range(101)]}),
        (
            "transact_write_items",
            lambda t: {"TransactItems": [{"Put": {"TableName": t, "Item": _KEY}} for _ in range(2)]},
        ),
        ("batch_get_item", lambda t: {"RequestItems": {t: {"Keys": [_key(n) for n in range(101)]}}}),
        ("batch_get_item", lambda t: {"RequestItems": {t: {"Keys": [_KEY, _KEY]}}}),
        ("put_item", lambda t: {"TableName": t, "Item": {**_KEY, "version": {"N": _LONG}}}),
        ("put_item", lambda t: {"TableName": t, "Item": {**_KEY, "runs": {"M": {"a": {"N": _LONG}}}}}),
        ("put_item", lambda t: {"TableName": t, "Item": {**_KEY, "id": {"S": ""}}}),
        ("put_item", lambda t: {"TableName": t, "Item": {**_KEY, "listing": {"S": ""}}}),
        ("get_item", lambda t: {"TableName": t, "Key": {**_KEY, "slot": {"S": ""}}}),
        (
            "query",
            lambda t: {
                "TableName": t,
                "KeyConditionExpression": "slot = :slot",
                "ExpressionAttributeValues": {":slot": {"S": ""}},
            },
        ),
        (
            "update_item",
            lambda t: {
                "TableName": t,
                "Key": _KEY,
                "UpdateExpression": "REMOVE " + ", ".join(f"attribute_{n:04d}" for n in range(300)),
            },
        ),
        ("batch_execute_statement", lambda t: {"Statements": [_insert(t, 1, **{"x" * 8200: {"S": ""}})]}),
    ],
    ids=[
        "two updates of one row",
        "reads and writes",
        "26 statements",
        "two inserts of one row in a transaction",
        "101 statements in a transaction",
        "two actions on one row",
        "101 keys",
        "one key twice",
        "39 digits",
        "39 digits within a map",
        "an empty key",
        "an empty key of an index",
        "an empty key to read",
        "an empty key to look for",
        "an update of more than 4 KB",
        "a statement of more than 8 KB",
    ],
)
def test_a_request_that_aws_refuses_as_a_whole_is_refused(
    on_aws: OnAws, boundary: Boundary, operation: str, asked: Any, is_amazons: bool
) -> None:
    boundary.refuses = not is_amazons
    with pytest.raises(ClientError) as refused:
        getattr(on_aws.dynamodb, operation)(**asked(on_aws.names["items"]))
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def test_no_more_than_sixteen_megabytes_are_read_at_once(on_aws: OnAws, boundary: Boundary) -> None:
    """Payloads of 256 KB: a worker's batch may need many of them."""
    table = on_aws.names["payloads"]
    keys = [{"id": {"S": f"large-{number}"}} for number in range(70)]
    for key in keys:
        on_aws.dynamodb.put_item(TableName=table, Item={**key, "text": {"S": "x" * 262_144}})
    answer = on_aws.dynamodb.batch_get_item(RequestItems={table: {"Keys": keys}})
    left = answer["UnprocessedKeys"][table]["Keys"]
    assert len(answer["Responses"][table]) + len(left) == 70
    assert 5 <= len(left) <= 9
    boundary.calls.clear()
    found = on_aws.dynamodb.batch_get_item(RequestItems={table: {"Keys": left}})
    assert len(found["Responses"][table]) == len(left)


def test_a_large_answer_is_read_to_its_end(on_aws: OnAws, boundary: Boundary) -> None:
    keys = [f"huge-{number}" for number in range(70)]
    for key in keys:
        on_aws.dynamodb.put_item(
            TableName=on_aws.names["payloads"],
            Item={"id": {"S": key}, "text": {"S": "x" * 262_144}, "expires_at": {"N": "9999999999"}},
        )
    boundary.calls.clear()
    assert len(on_aws.payloads.get_many(keys)) == 70
    assert len(boundary.asked("BatchGetItem")) == 2


@pytest.mark.parametrize("address", ["127.0.0.2", "::1"])
def test_an_engine_listens_on_one_address_alone(engine: Engines, address: str) -> None:
    port = int((engine.dynamodb_url or engine.place.endpoint_url).rpartition(":")[2])
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as caller, pytest.raises(OSError, match=r"refused|unavailable|assign"):
        caller.connect((address, port))
