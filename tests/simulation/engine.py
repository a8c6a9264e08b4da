"""DynamoDB, SQS and KMS in this process: the local engine's own modules on a clock that we move, every change told."""

import json
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import ministack.services.dynamodb as dynamodb
import ministack.services.kms as kms
import ministack.services.sqs as sqs

from tests import tables
from tests.simulation import quick

Row = Mapping[str, Mapping[str, Any]]
TABLES: Final = {f"sim-{name}": name for name in tables.KEYS}
# Those of items, and that of the clock. The lane for slow destinations has the dead letters of the queue `tasks`.
CALLS: Final = ("tasks", "slow", "payments")
QUEUES: Final = (*CALLS, "ticks")
_ARN: Final = "arn:aws:sqs:us-east-1:000000000000:sim-"
_LETTERS: Final = {"slow": "tasks-dlq"}
_VISIBLE: Final = {"tasks": 900, "slow": 900, "payments": 60, "ticks": 300}
RECEIVES: Final = {"tasks": 8, "slow": 8, "payments": 8, "ticks": 5}
_HANDLERS: Final = {
    "BatchExecuteStatement": dynamodb._batch_execute_statement,
    "BatchGetItem": dynamodb._batch_get_item,
    "BatchWriteItem": dynamodb._batch_write_item,
    "DeleteItem": dynamodb._delete_item,
    "ExecuteTransaction": dynamodb._execute_transaction,
    "GetItem": dynamodb._get_item,
    "PutItem": dynamodb._put_item,
    "Query": dynamodb._query,
    "Scan": dynamodb._scan,
    "TransactWriteItems": dynamodb._transact_write_items,
    "UpdateItem": dynamodb._update_item,
    "Decrypt": kms._decrypt,
    "GenerateDataKey": kms._generate_data_key,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One row before and after a write that was made."""

    table: str
    key: tuple[str, str]
    before: Row | None
    after: Row | None


class Engine:
    """There is one in a process, for the engine's modules keep what they know in themselves."""

    def __init__(self) -> None:
        self.now: Callable[[], int] = lambda: 0
        self._changes: list[Change] = []
        self._set_item = dynamodb._set_item
        told = SimpleNamespace(time=lambda: self.now() / 1_000_000, sleep=_for_ever)
        dynamodb.time = told
        sqs.time = told
        sqs._enforce_queue_policy = lambda queue, action: None
        dynamodb._set_item = self._noted
        sqs.new_uuid = lambda: os.urandom(16).hex()
        quick.engine()
        for name in tables.KEYS:
            self._made("CreateTable", {"TableName": f"sim-{name}", **tables.definition(name)})
        _, _, made = kms._create_key({})
        self.secrets_key: str = json.loads(made)["KeyMetadata"]["Arn"]
        self.urls: dict[str, str] = {}
        for name in QUEUES:
            letters = _LETTERS.get(name, f"{name}-dlq")
            for full in (letters, name):
                attributes = {"VisibilityTimeout": str(_VISIBLE[name])}
                if full == name:
                    arn = f"{_ARN}{letters}"
                    attributes["RedrivePolicy"] = json.dumps(
                        {"deadLetterTargetArn": arn, "maxReceiveCount": RECEIVES[name]}
                    )
                made = sqs._act_create_queue({"QueueName": f"sim-{full}", "Attributes": attributes}, "")
                self.urls[full] = made["QueueUrl"]
        self.names = {url: name for name, url in self.urls.items()}
        self._queues: dict[str, dict[str, Any]] = {name: sqs._queues[url] for name, url in self.urls.items()}
        self._tables = pickle.dumps(dynamodb._tables._data)

    def put(self, table: str, row: Mapping[str, Any]) -> None:
        """Into what every run begins with."""
        self.write(table, row)
        self._tables = pickle.dumps(dynamodb._tables._data)

    def write(self, table: str, row: Mapping[str, Any]) -> None:
        self._made("PutItem", {"TableName": f"sim-{table}", "Item": row})

    def reset(self) -> None:
        dynamodb._tables._data.clear()
        dynamodb._tables._data.update(pickle.loads(self._tables))  # noqa: S301 - our own
        dynamodb._txn_idempotency._data.clear()
        dynamodb._txn_token_sweep_at = 0.0
        for queue in sqs._queues._data.values():
            queue["messages"] = []
        self._changes.clear()

    def answer(
        self, service: str, operation: str, asked: Mapping[str, Any]
    ) -> tuple[int, dict[str, Any], list[Change]]:
        """The status, what the answer says, and what was changed."""
        self._changes.clear()
        if service == "sqs":
            try:
                found = sqs._HANDLERS[operation](dict(asked), asked.get("QueueUrl", ""))
                return 200, quick.copied(_ended(found) if operation == "ReceiveMessage" else found), []
            except sqs._Err as error:
                content = {"__type": f"com.amazonaws.sqs#{error.code}", "message": error.message}
                return error.status, content, []
        status, _, body = _HANDLERS[operation](asked)
        changes, self._changes = self._changes, []
        return status, quick.read(body), changes

    def rows(self, table: str) -> Iterator[Row]:
        for group in self._table(table)["items"].values():
            yield from group.values()

    def rows_of(self, table: str, first: str) -> list[Row]:
        """The rows with the same partition key."""
        return list(self._table(table)["items"].get(first, {}).values())

    def row(self, table: str, first: str, second: str = "__no_sort__") -> Row | None:
        found: Row | None = self._table(table)["items"].get(first, {}).get(second)
        return found

    def remove(self, table: str, first: str, second: str) -> None:
        """Removes a row as DynamoDB does when its time is over."""
        del self._table(table)["items"][first][second]

    @staticmethod
    def tables() -> list[str]:
        return list(TABLES.values())

    def messages(self, queue: str) -> list[dict[str, Any]]:
        """Returns the messages that the engine keeps, to be read and moved in time."""
        found: list[dict[str, Any]] = self._queues[queue]["messages"]
        return found

    def send(self, queue: str, body: str, delay: int = 0) -> None:
        sqs._act_send_message({"MessageBody": body, "DelaySeconds": delay}, self.urls[queue])

    def receive(self, queue: str, most: int = 10) -> list[dict[str, Any]]:
        """Receives messages as the records of an event."""
        asked = {"MaxNumberOfMessages": most, "AttributeNames": ["All"], "WaitTimeSeconds": 0}
        found = _ended(sqs._act_receive_message(asked, self.urls[queue])).get("Messages", ())
        return [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": dict(message["Attributes"]),
                "messageAttributes": {},
                "eventSourceARN": f"{_ARN}{queue}",
            }
            for message in found
        ]

    def delete(self, queue: str, receipt: str) -> None:
        try:
            sqs._act_delete_message({"ReceiptHandle": receipt}, self.urls[queue])
        except sqs._Err:
            return

    def _table(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = dynamodb._tables[f"sim-{name}"]
        return found

    def _noted(self, table: dict[str, Any], first: str, second: str, row: Row) -> Row | None:
        before = table["items"].get(first, {}).get(second)
        name = TABLES[table["TableName"]]
        self._changes.append(Change(table=name, key=(first, second), before=before, after=row))
        return self._set_item(table, first, second, row)

    def _made(self, operation: str, asked: Mapping[str, Any]) -> None:
        handler = dynamodb._create_table if operation == "CreateTable" else _HANDLERS[operation]
        status, _, body = handler(dict(asked))
        if status != 200:
            raise RuntimeError(f"{operation}: {body!r}")
        self._changes.clear()


def _ended(receiving: Any) -> dict[str, Any]:
    """Receives what is there at once: a worker that waits for messages has to ask again."""
    try:
        receiving.send(None)
    except StopIteration as finished:
        return dict(finished.value)
    raise RuntimeError("the engine waits")


def _for_ever(seconds: float) -> None:
    """The engine's own threads have nothing to do here."""
    import threading

    threading.Event().wait()
