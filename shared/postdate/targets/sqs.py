"""Delivery as a message to a queue of the task's owner."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from datetime import datetime
from itertools import groupby
from typing import Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import DestinationNotAllowed
from postdate.targets.base import Delivered, Delivery, Failed, Receipt, Report, internal_error
from postdate.targets.facts import facts

BATCH_MESSAGES_MAX: Final = 10
BATCH_BYTES_MAX: Final = 1024 * 1024
# Names and values of the attributes count too; two signatures included they come to less.
_ATTRIBUTES_BYTES: Final = 1024
# SQS silently puts U+FFFD in the place of these two. In JSON they only stand inside strings, where they have an escape.
_NOT_CARRIED: Final = re.compile("[\ufffe\uffff]")
# Faults of the message itself. All others are the queue's, its policy's or its key's: somebody can mend them.
_FINAL: Final = frozenset({"InvalidMessageContents", "InvalidParameterValue", "BatchRequestTooLong"})
_CODE: Final = re.compile(r"[A-Za-z]{1,60}")


class QueueClient(Protocol):
    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> Mapping[str, Any]: ...  # noqa: N803


def check_queue(queue_url: str, allowed: Collection[str]) -> None:
    """Raises DestinationNotAllowed unless the tenant's list names this URL to the letter: our role may send to more."""
    if queue_url not in allowed:
        raise DestinationNotAllowed("the queue is not on the tenant's list")
    if queue_url.endswith(".fifo"):
        raise DestinationNotAllowed("FIFO queues are not supported")


class SqsTarget:
    """Ten messages a call. The time for a call is the client's own, for it cannot be said per call."""

    def __init__(self, *, client: QueueClient, pool: Executor, now: Callable[[], datetime]) -> None:
        self._client = client
        self._pool = pool
        self._now = now

    def start(self, deliveries: Sequence[Delivery], report: Report) -> None:
        allowed = []
        for delivery in deliveries:
            try:
                check_queue(delivery.destination.address, delivery.queues_allowed)
            except DestinationNotAllowed as refused:
                report(delivery, Failed(reason=f"destination not allowed: {refused}", retry=False))
            else:
                allowed.append(delivery)
        for batch in _batches(allowed):
            self._pool.submit(self._reported, batch, report)

    def _reported(self, batch: Sequence[Delivery], report: Report) -> None:
        try:
            receipts = self._send(batch)
        except Exception as error:
            receipts = [internal_error(error)] * len(batch)
        for delivery, receipt in zip(batch, receipts, strict=True):
            report(delivery, receipt)

    def _send(self, batch: Sequence[Delivery]) -> Sequence[Receipt]:
        at = self._now()
        entries = [{"Id": str(index), **_message(delivery, at)} for index, delivery in enumerate(batch)]
        try:
            answer = self._client.send_message_batch(QueueUrl=batch[0].destination.address, Entries=entries)
        except ClientError as error:
            failed = _failed(error.response.get("Error", {}).get("Code", ""))
            # One message spoils the call; alone it spoils only its own.
            if not failed.retry and len(batch) > 1:
                return [receipt for delivery in batch for receipt in self._send([delivery])]
            return [failed] * len(batch)
        except BotoCoreError:
            return [Failed(reason="sqs did not answer")] * len(batch)
        taken = {entry["Id"] for entry in answer.get("Successful", ())}
        codes = {entry["Id"]: entry["Code"] for entry in answer.get("Failed", ())}
        return [
            Delivered() if entry["Id"] in taken else _failed(codes.get(entry["Id"], "")) for entry in entries
        ]


def _batches(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """By queue, in order, within both limits of a call."""
    for _, group in groupby(sorted(deliveries, key=_queue), key=_queue):
        batch: list[Delivery] = []
        size = 0
        for delivery in group:
            bytes_ = len(delivery.body) + _ATTRIBUTES_BYTES
            if batch and (len(batch) == BATCH_MESSAGES_MAX or size + bytes_ > BATCH_BYTES_MAX):
                yield batch
                batch, size = [], 0
            batch.append(delivery)
            size += bytes_
        yield batch


def _queue(delivery: Delivery) -> str:
    return delivery.destination.address


def _message(delivery: Delivery, at: datetime) -> dict[str, Any]:
    text = _NOT_CARRIED.sub(lambda char: f"\\u{ord(char[0]):04x}", delivery.body.decode())
    return {
        "MessageBody": text,
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": value}
            for name, value in facts(delivery, text.encode(), at=at)
        },
    }


def _failed(code: str) -> Failed:
    name = code.rpartition(".")[2]
    if not _CODE.fullmatch(name):
        return Failed(reason="sqs did not take the message")
    retry = name not in _FINAL
    return Failed(reason=f"sqs {name}", retry=retry, down=retry)
