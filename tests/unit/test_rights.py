"""The rights that calls need, and the list of tests that miss each right."""

import json
from pathlib import Path
from typing import Any, Final

import botocore.session
import pytest
from botocore.exceptions import ClientError

from tests.rights.golden import Kind, Right, allowing
from tests.rights.guard import Guard
from tests.rights.needs import Need, needs

USERS: Final[dict[str, list[str]]] = json.loads(Path("tests/rights/users.json").read_text(encoding="utf-8"))
TABLE: Final = "integration-3-payments"


def needed(service: str, operation: str, **asked: Any) -> list[tuple[str, str, bool]]:
    return [(each.action, each.resource, each.in_transaction) for each in needs(service, operation, asked)]


def test_a_transaction_needs_the_right_of_each_row() -> None:
    items = [
        {"Put": {"TableName": TABLE, "Item": {"id": {"S": "1"}}}},
        {"Update": {"TableName": "integration-3-accounts", "Key": {"account": {"S": "a"}}}},
        {"ConditionCheck": {"TableName": TABLE, "Key": {}}},
    ]
    assert needed("dynamodb", "TransactWriteItems", TransactItems=items) == [
        ("dynamodb:PutItem", "table:payments", True),
        ("dynamodb:UpdateItem", "table:accounts", True),
        ("dynamodb:ConditionCheckItem", "table:payments", True),
    ]


def test_statements_batches_and_indexes_have_rights_of_their_own() -> None:
    statements = [
        {"Statement": "INSERT INTO \"integration-3-items\" VALUE {'id':?}"},
        {"Statement": 'UPDATE "integration-3-items" SET "a"=? WHERE "id"=?'},
    ]
    assert needed("dynamodb", "BatchExecuteStatement", Statements=statements) == [
        ("dynamodb:PartiQLInsert", "table:items", False),
        ("dynamodb:PartiQLUpdate", "table:items", False),
    ]
    asked = {"RequestItems": {"integration-3-items": {}, "integration-3-data_keys": {}}}
    assert needed("dynamodb", "BatchGetItem", **asked) == [
        ("dynamodb:BatchGetItem", "table:items", False),
        ("dynamodb:BatchGetItem", "table:data-keys", False),
    ]
    assert needed("dynamodb", "Query", TableName=TABLE, IndexName="by_payee") == [
        ("dynamodb:Query", "table:payments/index/by_payee", False)
    ]


def test_a_batch_of_messages_needs_the_right_of_one() -> None:
    url = "http://127.0.0.1:1/000000000000/integration-3-tasks-dlq"
    assert needed("sqs", "DeleteMessageBatch", QueueUrl=url) == [
        ("sqs:DeleteMessage", "queue:tasks-dlq", False)
    ]
    (need,) = needs("sqs", "SendMessageBatch", {"QueueUrl": "http://h/0/postdate-test-destination-1"})
    assert allowing("run-tasks", need) is not None
    assert allowing("settle", need) is None


def test_money_is_written_in_transactions_alone() -> None:
    need = Need(action="dynamodb:UpdateItem", resource="table:accounts")
    assert allowing("settle", need) is None
    in_transaction = Need(action=need.action, resource=need.resource, in_transaction=True)
    found = allowing("settle", in_transaction)
    assert found is not None
    assert found.kind is Kind.IN_TRANSACTIONS


def test_conditions_on_attributes_rows_and_owners_are_kept() -> None:
    def update(*attributes: str) -> Need:
        return Need(action="dynamodb:UpdateItem", resource="table:keys", attributes=frozenset(attributes))

    assert allowing("authorize", update("key_id", "last_used_at")) is not None
    assert allowing("authorize", update("key_id", "operator")) is None

    def row(leading: str) -> Need:
        return Need(action="dynamodb:UpdateItem", resource="table:slots", leading=leading)

    assert allowing("record", row("calendar#2026-11-18")) is not None
    assert allowing("record", row("watermark")) is None

    def opened(owner: str) -> Need:
        return Need(action="kms:Decrypt", resource="key:secrets", owner=owner)

    assert allowing("run-tasks", opened("acme")) is not None
    assert allowing("run-tasks", opened("@keys")) is None
    assert allowing("authorize", opened("@keys")) is not None
    assert allowing("archive", opened("archive/acme")) is not None
    assert allowing("archive", opened("acme")) is None


def test_a_query_of_one_partition_names_it() -> None:
    asked = {
        "TableName": "integration-1-slots",
        "KeyConditionExpression": "#scope = :scope AND #name < :name",
        "ExpressionAttributeNames": {"#scope": "scope", "#name": "name"},
        "ExpressionAttributeValues": {":scope": {"S": "retention"}, ":name": {"S": "again"}},
    }
    (walk,) = needs("dynamodb", "Query", asked)
    assert allowing("archive", walk) is not None
    (minutes,) = needs("dynamodb", "Query", asked | {"ExpressionAttributeValues": {":scope": {"S": "2026"}}})
    assert allowing("archive", minutes) is None


def test_the_api_reads_archived_payments_and_nothing_else_of_the_archive() -> None:
    def read(key: str) -> Need:
        (need,) = needs("s3", "GetObject", {"Bucket": "integration-archive-1", "Key": key})
        return need

    assert allowing("api", read("payments/2026/1.json")) is not None
    assert allowing("api", read("events/2026/1.gz")) is None
    assert allowing("archive", read("events/2026/1.gz")) is not None


def test_each_machine_is_started_by_a_right_of_its_own() -> None:
    arn = "arn:aws:states:us-east-1:000000000000:stateMachine:integration-"
    found = {
        name: next(iter(needs("stepfunctions", "StartExecution", {"stateMachineArn": arn + name}))).resource
        for name in ("operation", "erase")
    }
    assert found["erase"].endswith("-erase")
    assert found["operation"].endswith("-operation")
    (asks,) = needs("stepfunctions", "DescribeExecution", {"executionArn": f"{arn}operation:op_1-1"})
    assert allowing("sweep", asks) is not None
    assert allowing("api", asks) is None


def test_a_call_without_its_right_is_refused() -> None:
    guard = Guard()
    model = _model("dynamodb", "GetItem")
    asked = {"TableName": "integration-1-items", "Key": {}}
    right = Right(role="api", kind=Kind.FREE, action="dynamodb:GetItem", resource="table:items")
    guard(asked, model)
    with guard.acting("api"):
        guard(asked, model)
        assert guard.used == {right}
        guard.taken = right
        with pytest.raises(ClientError, match="AccessDenied"):
            guard(asked, model)
        guard.taken = None
        guard(asked, model)
    with guard.acting("settle"), pytest.raises(ClientError, match="AccessDenied"):
        guard(asked, model)
    assert len(guard.beyond) == 1


def _model(service: str, operation: str) -> Any:
    return botocore.session.get_session().get_service_model(service).operation_model(operation)


def test_the_tests_that_miss_a_right_exist() -> None:
    files = Path("tests/integration").glob("*.py")
    text = {path.as_posix(): path.read_text(encoding="utf-8") for path in files}
    for right, tests in USERS.items():
        known = [test for test in tests if f"def {_function(test)}(" in text.get(test.partition("::")[0], "")]
        assert known, f"{right}: `make rights TRACE=1` finds its tests anew"


def _function(test: str) -> str:
    return test.rpartition("::")[2].partition("[")[0]
