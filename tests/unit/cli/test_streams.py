"""The local engine's streams with our patches: PartiQL's writes are told, and a consumer's answer is obeyed."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from ministack.services import dynamodb, lambda_svc

from cli.local import streams
from cli.local.streams import Follower

TABLE = "streamed"
MAPPING = {
    "EventSourceArn": "arn:aws:dynamodb:us-east-1:000000000000:table/streamed/stream/1",
    "BisectBatchOnFunctionError": True,
    "MaximumRetryAttempts": 3,
}
Records = list[dict[str, Any]]


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("_partiql_insert", "_partiql_update", "_execute_transaction"):
        monkeypatch.setattr(dynamodb, name, getattr(dynamodb, name))
    streams._tell_partiql()
    key = {"AttributeName": "id", "AttributeType": "S"}
    asked = {
        "TableName": TABLE,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [key],
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    }
    assert dynamodb._create_table(asked)[0] == 200
    yield
    dynamodb._delete_table({"TableName": TABLE})


def insert(id: str) -> dict[str, Any]:
    return {"Statement": f"INSERT INTO \"{TABLE}\" VALUE {{'id':?}}", "Parameters": [{"S": id}]}


def update(id: str, state: str) -> dict[str, Any]:
    return {
        "Statement": f'UPDATE "{TABLE}" SET "state"=? WHERE "id"=?',  # noqa: S608
        "Parameters": [{"S": state}, {"S": id}],
    }


def told() -> list[tuple[str, Any, Any]]:
    return [
        (each["eventName"], each["dynamodb"].get("OldImage"), each["dynamodb"].get("NewImage"))
        for each in dynamodb.stream_live_records(TABLE)
    ]


def row(id: str, state: str | None = None) -> dict[str, Any]:
    return {"id": {"S": id}} | ({"state": {"S": state}} if state else {})


def test_statements_of_a_batch_are_told_with_the_row_before_and_after(table: None) -> None:
    dynamodb._batch_execute_statement({"Statements": [insert("a"), insert("b")]})
    dynamodb._batch_execute_statement({"Statements": [update("a", "x"), insert("b")]})
    assert told() == [
        ("INSERT", None, row("a")),
        ("INSERT", None, row("b")),
        ("MODIFY", row("a"), row("a", "x")),
    ]


def test_a_record_does_not_wake_the_thread_that_delivers_messages(
    table: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dynamodb, "esm_wake", dynamodb.esm_wake)
    streams._wake_no_other_poller()
    lambda_svc._esm_wake.clear()
    assert dynamodb._execute_statement(insert("a"))[0] == 200
    assert told()
    assert not lambda_svc._esm_wake.is_set()


def test_a_transaction_of_statements_is_told_when_it_was_carried_out_and_only_then(table: None) -> None:
    assert dynamodb._execute_transaction({"TransactStatements": [insert("a"), insert("b")]})[0] == 200
    assert dynamodb._execute_transaction({"TransactStatements": [insert("c"), insert("b")]})[0] == 400
    assert told() == [("INSERT", None, row("a")), ("INSERT", None, row("b"))]


class Consumer:
    """Answers each batch as told, and notes the numbers of its records."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, answer: Callable[[list[str]], dict[str, Any]]
    ) -> None:
        self.batches: list[list[str]] = []
        self.letters: list[list[str]] = []
        self._answer = answer
        monkeypatch.setattr(lambda_svc, "_execute_function", self._execute)
        monkeypatch.setattr(lambda_svc, "_send_ddb_stream_failure_record", self._bury)
        monkeypatch.setattr(streams.time, "sleep", lambda _: None)

    def deliver(self, count: int, **mapping: Any) -> None:
        batch = [{"dynamodb": {"SequenceNumber": str(number)}} for number in range(count)]
        Follower().deliver(MAPPING | mapping, {}, batch)

    def _execute(self, function: Any, event: dict[str, Records]) -> dict[str, Any]:
        numbers = [each["dynamodb"]["SequenceNumber"] for each in event["Records"]]
        self.batches.append(numbers)
        return self._answer(numbers)

    def _bury(self, mapping: Any, function: Any, batch: Records, *_: Any) -> None:
        self.letters.append([each["dynamodb"]["SequenceNumber"] for each in batch])


def failing(*numbers: str) -> dict[str, Any]:
    return {"body": json.dumps({"batchItemFailures": [{"itemIdentifier": each} for each in numbers]})}


def test_a_batch_is_delivered_again_from_the_first_record_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = iter([failing("2"), failing("4", "3"), failing()])
    consumer = Consumer(monkeypatch, lambda _: next(answers))
    consumer.deliver(5)
    assert consumer.batches == [["0", "1", "2", "3", "4"], ["2", "3", "4"], ["3", "4"]]
    assert consumer.letters == []


def test_an_answer_that_names_no_record_of_the_batch_fails_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([failing(""), failing("9"), failing(), failing()])
    consumer = Consumer(monkeypatch, lambda _: next(answers))
    consumer.deliver(2, BisectBatchOnFunctionError=False)
    assert consumer.batches == [["0", "1"]] * 3


def test_a_record_that_always_fails_is_found_by_halving_and_stops_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    consumer = Consumer(monkeypatch, lambda numbers: {"error": True} if "5" in numbers else failing())
    consumer.deliver(8, MaximumRetryAttempts=5)
    assert consumer.letters == [["5"]]
    taken = [number for batch in consumer.batches if "5" not in batch for number in batch]
    assert taken == ["0", "1", "2", "3", "4", "6", "7"]


def test_the_tries_of_a_record_end(monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = Consumer(monkeypatch, lambda numbers: failing(numbers[0]))
    consumer.deliver(1)
    assert len(consumer.batches) == 4
    assert consumer.letters == [["0"]]


def test_a_record_that_does_not_fit_the_mappings_filter_is_not_delivered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pattern = {"dynamodb": {"NewImage": {"note": {"S": [{"exists": True}]}}}}
    consumer = Consumer(monkeypatch, lambda _: failing())
    batch = [
        {"dynamodb": {"SequenceNumber": "0", "NewImage": {"available": {"N": "5"}}}},
        {"dynamodb": {"SequenceNumber": "1", "NewImage": {"note": {"S": "[]"}}}},
    ]
    mapping = MAPPING | {"FilterCriteria": {"Filters": [{"Pattern": json.dumps(pattern)}]}}
    Follower().deliver(mapping, {}, batch)
    Follower().deliver(mapping, {}, batch[:1])
    assert consumer.batches == [["1"]]
