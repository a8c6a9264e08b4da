"""Tables of the local engine that are throttled by a tag."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import dynamodb

from cli.local import throttling

TABLE, OTHER = "throttled-here", "as-ever"
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/{}"
NAMES = (*throttling._WRITES, "_batch_execute_statement", *throttling._TAGGED)


@pytest.fixture(autouse=True)
def _tables(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in NAMES:
        monkeypatch.setattr(dynamodb, name, getattr(dynamodb, name))
    throttling.patched()
    key = {"AttributeName": "id", "AttributeType": "S"}
    for table in (TABLE, OTHER):
        asked = {
            "TableName": table,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [key],
            "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        }
        assert dynamodb._create_table(asked)[0] == 200
    tagged = {"ResourceArn": ARN.format(TABLE), "Tags": [{"Key": throttling.TAG, "Value": "writes"}]}
    assert dynamodb._tag_resource(tagged)[0] == 200
    throttling.drained()
    yield
    released()
    for table in (TABLE, OTHER):
        dynamodb._delete_table({"TableName": table})


def released() -> None:
    untagged = {"ResourceArn": ARN.format(TABLE), "TagKeys": [throttling.TAG]}
    assert dynamodb._untag_resource(untagged)[0] == 200


def put(table: str) -> dict[str, Any]:
    return {"TableName": table, "Item": {"id": {"S": "1"}}}


def insert(table: str) -> dict[str, Any]:
    return {"Statement": f"INSERT INTO \"{table}\" VALUE {{'id':?}}", "Parameters": [{"S": "2"}]}


def writes(table: str) -> list[tuple[str, Any]]:
    return [
        ("_put_item", put(table)),
        ("_transact_write_items", {"TransactItems": [{"Put": put(table)}]}),
        ("_batch_write_item", {"RequestItems": {table: [{"PutRequest": {"Item": put(table)["Item"]}}]}}),
        ("_execute_statement", insert(table)),
        ("_execute_transaction", {"TransactStatements": [insert(table)]}),
    ]


@pytest.mark.parametrize("name", [name for name, _ in writes(TABLE)])
def test_a_write_of_a_tagged_table_is_throttled_and_counted(name: str) -> None:
    status, _, body = getattr(dynamodb, name)(dict(writes(TABLE))[name])
    assert status == 400
    assert json.loads(body)["__type"].endswith("ThrottlingException")
    assert [table for table, _ in throttling.drained()] == [TABLE]
    assert throttling.drained() == []


def test_each_statement_of_a_batch_is_throttled() -> None:
    status, _, body = dynamodb._batch_execute_statement({"Statements": [insert(TABLE), insert(TABLE)]})
    assert status == 200
    assert [each["Error"]["Code"] for each in json.loads(body)["Responses"]] == ["ThrottlingError"] * 2


def test_other_tables_and_reads_are_as_ever() -> None:
    for name, asked in writes(OTHER)[:1]:
        assert getattr(dynamodb, name)(asked)[0] == 200
    assert dynamodb._get_item({"TableName": TABLE, "Key": {"id": {"S": "1"}}})[0] == 200
    assert throttling.drained() == []


def test_a_table_without_its_tag_is_as_ever() -> None:
    released()
    assert dynamodb._put_item(put(TABLE))[0] == 200
