"""Requests that AWS refuses as a whole and the local engine takes. Amazon's own engine is asked as it is."""

import socket
from itertools import count
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.boundary import Boundary
from tests.contract.conftest import OnAws
from tests.engines import Engines

_KEY = {"slot": {"S": "2026-11-18T10:05#00"}, "id": {"S": "refused"}}
_numbers = count(1000, 2)
_EMPTY = {"S": ""}
_LONG = {"N": "9" * 39}
_UPDATE = 'UPDATE "{}" SET "{}"=? WHERE "slot"=? AND "id"=?'
_SELECT = 'SELECT * FROM "{}" WHERE "slot"=? AND "id"=?'


def _key(number: int) -> dict[str, Any]:
    return {**_KEY, "id": {"S": f"refused-{number}"}}


def _insert(table: str, number: int, **more: Any) -> dict[str, Any]:
    row = {**_key(number), **more}
    fields = ",".join(f"'{name}':?" for name in row)
    return {"Statement": f'INSERT INTO "{table}" VALUE {{{fields}}}', "Parameters": list(row.values())}


def _update(table: str, number: int = 0, **change: Any) -> dict[str, Any]:
    ((name, value),) = (change or {"version": {"N": "1"}}).items()
    return {"Statement": _UPDATE.format(table, name), "Parameters": [value, *_key(number).values()]}


def _select(table: str) -> dict[str, Any]:
    return {"Statement": _SELECT.format(table), "Parameters": list(_key(9).values())}


def _keys(table: str, count: int) -> dict[str, Any]:
    return {table: {"Keys": [{name: {"S": str(n)} for name in _KEY} for n in range(count)]}}


@pytest.mark.parametrize("operation", ["BatchExecuteStatement", "ExecuteTransaction"])
@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(lambda t: [_insert(t, 1), _insert(t, 1)], id="two inserts of one row"),
        pytest.param(lambda t: [_update(t), _insert(t, 1), _update(t)], id="two updates of one row"),
        pytest.param(lambda t: [_insert(t, 1), _update(t, 1)], id="an insert and an update of one row"),
        pytest.param(lambda t: [_select(t), _select(t)], id="two reads of one row"),
        pytest.param(lambda t: [_insert(t, 1), _select(t)], id="reads and writes"),
        pytest.param(lambda t: [_insert(t, 1, version=_LONG)], id="39 digits to insert"),
        pytest.param(lambda t: [_update(t, version=_LONG)], id="39 digits to update"),
        pytest.param(lambda t: [_insert(t, 1, version={"N": "-0." + "9" * 39})], id="39 places"),
        pytest.param(lambda t: [_insert(t, 1, runs={"L": [{"M": {"a": _LONG}}]})], id="39 digits inside"),
        pytest.param(lambda t: [_insert(t, 1, runs={"NS": ["1", "9" * 39]})], id="39 digits in a set"),
        pytest.param(lambda t: [_insert(t, 1, **{"x" * 8200: _EMPTY})], id="more than 8 KB"),
    ],
)
def test_statements_that_aws_refuses_together_are_refused(
    on_aws: OnAws, boundary: Boundary, operation: str, statements: Any, is_amazons: bool
) -> None:
    boundary.refuses = not is_amazons
    assert _refused(on_aws, operation, statements(on_aws.names["items"])) == "ValidationException"


@pytest.mark.parametrize(
    "faulty",
    [
        pytest.param(lambda t: _insert(t, 7, id=_EMPTY), id="to insert"),
        pytest.param(lambda t: _insert(t, 7, listing=_EMPTY), id="of an index"),
        pytest.param(lambda t: _update(t, 1, listing=_EMPTY), id="of an index to update"),
        pytest.param(lambda t: _update(t, 1) | {"Parameters": [_EMPTY, _KEY["slot"], _EMPTY]}, id="to find"),
    ],
)
def test_a_statement_with_an_empty_key_is_refused(
    on_aws: OnAws, boundary: Boundary, faulty: Any, is_amazons: bool
) -> None:
    """In a batch alone, in a transaction with all others."""
    boundary.refuses = not is_amazons
    table, number = on_aws.names["items"], next(_numbers)
    good = [_insert(table, number), _insert(table, number + 1)]
    answer = on_aws.dynamodb.batch_execute_statement(Statements=[good[0], faulty(table), good[1]])
    codes = [each.get("Error", {}).get("Code") for each in answer["Responses"]]
    assert codes == [None, "ValidationError", None]
    assert _refused(on_aws, "ExecuteTransaction", [faulty(table)]) == "ValidationException"


def test_as_many_digits_as_aws_keeps_are_taken(on_aws: OnAws, boundary: Boundary) -> None:
    longest = {"N": "-0.00" + "9" * 38 + "00"}
    statements = [_insert(on_aws.names["items"], next(_numbers), version=longest)]
    assert "Error" not in on_aws.dynamodb.batch_execute_statement(Statements=statements)["Responses"][0]


def test_no_more_than_a_hundred_keys_of_all_tables_are_read_at_once(
    on_aws: OnAws, boundary: Boundary, is_amazons: bool
) -> None:
    boundary.refuses = not is_amazons
    payloads = {on_aws.names["payloads"]: {"Keys": [{"id": {"S": str(n)}} for n in range(51)]}}
    on_aws.dynamodb.batch_get_item(RequestItems=_keys(on_aws.names["items"], 49) | payloads)
    with pytest.raises(ClientError) as refused:
        on_aws.dynamodb.batch_get_item(RequestItems=_keys(on_aws.names["items"], 50) | payloads)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.parametrize(
    ("operation", "asked"),
    [
        pytest.param(
            "batch_execute_statement",
            lambda t: {"Statements": [_insert(t, n) for n in range(26)]},
            id="26 statements",
        ),
        pytest.param(
            "execute_transaction",
            lambda t: {"TransactStatements": [_insert(t, n) for n in range(101)]},
            id="101 statements in a transaction",
        ),
        pytest.param(
            "transact_write_items",
            lambda t: {"TransactItems": [{"Put": {"TableName": t, "Item": _KEY}} for _ in range(2)]},
            id="two actions on one row",
        ),
        pytest.param(
            "batch_get_item", lambda t: {"RequestItems": {t: {"Keys": [_KEY, _KEY]}}}, id="one key twice"
        ),
        pytest.param(
            "put_item", lambda t: {"TableName": t, "Item": {**_KEY, "version": _LONG}}, id="39 digits"
        ),
        pytest.param(
            "put_item", lambda t: {"TableName": t, "Item": {**_KEY, "id": _EMPTY}}, id="an empty key"
        ),
        pytest.param(
            "put_item",
            lambda t: {"TableName": t, "Item": {**_KEY, "listing": _EMPTY}},
            id="an empty key of an index",
        ),
        pytest.param(
            "get_item", lambda t: {"TableName": t, "Key": {**_KEY, "slot": _EMPTY}}, id="an empty key to read"
        ),
        pytest.param(
            "query",
            lambda t: {
                "TableName": t,
                "KeyConditionExpression": "slot = :slot",
                "ExpressionAttributeValues": {":slot": _EMPTY},
            },
            id="an empty key to look for",
        ),
    ],
)
def test_the_engine_itself_refuses_what_aws_does(
    on_aws: OnAws, boundary: Boundary, operation: str, asked: Any
) -> None:
    """The boundary need not look at these."""
    boundary.refuses = False
    with pytest.raises(ClientError) as refused:
        getattr(on_aws.dynamodb, operation)(**asked(on_aws.names["items"]))
    assert refused.value.response["Error"]["Code"] == "ValidationException"


def _refused(on_aws: OnAws, operation: str, statements: list[dict[str, Any]]) -> str:
    call, name = {
        "BatchExecuteStatement": (on_aws.dynamodb.batch_execute_statement, "Statements"),
        "ExecuteTransaction": (on_aws.dynamodb.execute_transaction, "TransactStatements"),
    }[operation]
    with pytest.raises(ClientError) as refused:
        call(**{name: statements})
    return str(refused.value.response["Error"]["Code"])


def test_no_more_than_sixteen_megabytes_are_read_at_once(
    on_aws: OnAws, boundary: Boundary, is_amazons: bool
) -> None:
    """Payloads of 256 KB: a worker's batch may need many of them."""
    boundary.refuses = not is_amazons
    keys = [{"id": {"S": f"large-{number}"}} for number in range(70)]
    read, left = _read(on_aws, "payloads", keys, 262_144)
    assert len(read) + len(left) == 70
    assert 5 <= len(left) <= 9
    assert len(_read(on_aws, "payloads", left, 262_144)[0]) == len(left)


def test_no_more_than_a_megabyte_of_one_partition_is_read_at_once(on_aws: OnAws, boundary: Boundary) -> None:
    """Neither engine has this limit, so the boundary sets it for both."""
    keys = [{"slot": {"S": "2026-11-18T10:06#00"}, "id": {"S": f"large-{number}"}} for number in range(5)]
    read, left = _read(on_aws, "items", keys, 300_000)
    assert (len(read), len(left)) == (3, 2)
    assert len(_read(on_aws, "items", left, 300_000)[0]) == 2


def _read(on_aws: OnAws, name: str, keys: list[dict[str, Any]], size: int) -> tuple[list[Any], list[Any]]:
    """Rows of this size that are read, and keys that are left."""
    table = on_aws.names[name]
    for key in keys:
        on_aws.dynamodb.put_item(TableName=table, Item={**key, "text": {"S": "x" * size}})
    answer = on_aws.dynamodb.batch_get_item(RequestItems={table: {"Keys": keys}})
    return answer["Responses"][table], answer["UnprocessedKeys"].get(table, {}).get("Keys", [])


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
