"""The floor: the same rows, changes and messages as ours, by the least calls of the engine and with nothing around."""

import os
import socket
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final, TypeAlias, TypeVar

from bench.bed import Bed
from bench.capacity import Row
from bench.receiver import ID_HEADER, PATH
from postdate.domain.slots import UNIQUE_BYTES, ShardPlan, home, item_id
from postdate.domain.task import KIND

STATEMENTS_MAX: Final = 25
MESSAGES_MAX: Final = 10
_KEYS: Final = ("slot", "id")
Statement: TypeAlias = dict[str, Any]
ItemT = TypeVar("ItemT")


class BareEngine:
    def __init__(self, bed: Bed, table: str = "ITEMS_TABLE") -> None:
        self._bed = bed
        self._dynamodb = bed.dynamodb
        self._sqs = bed.sqs
        self._queue_url = bed.queue.url
        self._table = bed.environment[table]
        self._shards = ShardPlan.parse(bed.environment["SHARD_PLAN"])

    def rows(self, count: int, due_at: datetime) -> list[Row]:
        """Rows as registration writes them, each of a task of its own: copies of one that it did write."""
        written = self._read(self._registered(due_at))
        return [written | self._named(due_at) for _ in range(count)]

    def put(self, row: Row) -> None:
        self._dynamodb.put_item(
            TableName=self._table, Item=row, ConditionExpression="attribute_not_exists(slot)"
        )

    def get(self, row: Row) -> None:
        self._read({name: row[name] for name in _KEYS})

    def inserts(self, rows: Sequence[Row]) -> list[Statement]:
        return [self._insert(row) for row in rows]

    def changes(self, rows: Sequence[Row], status: str, version: int) -> list[Statement]:
        """A claim or a completion: the state and the version that the last change left decide."""
        return [
            {
                "Statement": f'UPDATE "{self._table}" SET "status"=? SET "version"=?'  # noqa: S608
                ' WHERE "slot"=? AND "id"=? AND "version"=?',
                "Parameters": [
                    {"S": status},
                    {"N": str(version)},
                    row["slot"],
                    row["id"],
                    {"N": str(version - 1)},
                ],
            }
            for row in rows
        ]

    def execute(self, statements: Sequence[Statement]) -> None:
        for chunk in chunks(statements, STATEMENTS_MAX):
            answers = self._dynamodb.batch_execute_statement(Statements=chunk)["Responses"]
            if refused := [answer["Error"] for answer in answers if "Error" in answer]:
                raise RuntimeError(f"the bare loop was refused: {refused[0]}")

    def send(self, ids: Sequence[str]) -> None:
        for chunk in chunks(ids, MESSAGES_MAX):
            entries = [{"Id": str(place), **_message(id)} for place, id in enumerate(chunk)]
            self._sqs.send_message_batch(QueueUrl=self._queue_url, Entries=entries)

    def _insert(self, row: Row) -> Statement:
        fields = ",".join(f"'{name}':?" for name in row)
        statement = f'INSERT INTO "{self._table}" VALUE {{{fields}}}'
        return {"Statement": statement, "Parameters": list(row.values())}

    def _read(self, key: Row) -> Row:
        row: Row = self._dynamodb.get_item(TableName=self._table, Key=key, ConsistentRead=True)["Item"]
        return row

    def _registered(self, due_at: datetime) -> Row:
        with self._bed.client() as client:
            form = {"run_at": due_at.isoformat(), "target": self._bed.queue.target, "payload": {"n": 1}}
            id = client.post("/api/v1/tasks", form).expect(201)["task_id"]
        return {"slot": {"S": home(id).key}, "id": {"S": id}}

    def _named(self, due_at: datetime) -> Row:
        unique = os.urandom(UNIQUE_BYTES)
        slot = self._shards.slot(due_at, unique)
        return {"slot": {"S": slot.key}, "id": {"S": item_id(KIND, slot, unique)}}


class BareCaller:
    """Plain posts on one connection that stays open."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, id: str) -> None:
        self._socket.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 7\r\n{ID_HEADER}: {id}\r\n\r\n"
            '{"n":1}'.encode()
        )
        if not self._socket.recv(4096).startswith(b"HTTP/1.1 204"):
            raise RuntimeError("the receiver did not answer 204")

    def post_all(self, ids: Sequence[str]) -> None:
        for id in ids:
            self.post(id)

    def close(self) -> None:
        self._socket.close()


def chunks(items: Sequence[ItemT], size: int) -> Iterator[list[ItemT]]:
    waiting = iter(items)
    while chunk := list(islice(waiting, size)):
        yield chunk


def _message(id: str) -> dict[str, Any]:
    return {
        "MessageBody": '{"n":1}',
        "MessageAttributes": {ID_HEADER: {"DataType": "String", "StringValue": id}},
    }
