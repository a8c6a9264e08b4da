"""Delivery as a message to a queue of the task's owner."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from datetime import datetime
from typing import Any, Final, Protocol

from postdate.domain.errors import DestinationNotAllowed
from postdate.domain.task import Ack
from postdate.targets.base import Delivery
from postdate.targets.batches import BatchTarget
from postdate.targets.facts import facts

# Names and values of the attributes count too; two signatures included they come to less.
_ATTRIBUTES_BYTES: Final = 1024
# SQS silently puts U+FFFD in the place of these two. In JSON they only stand inside strings, where they have an escape.
_NOT_CARRIED: Final = re.compile("[\ufffe\uffff]")


class QueueClient(Protocol):
    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> Mapping[str, Any]: ...  # noqa: N803


def check_queue(queue_url: str, allowed: Collection[str]) -> None:
    """Raises DestinationNotAllowed unless the tenant's list names this URL to the letter: our role may send to more."""
    if queue_url not in allowed:
        raise DestinationNotAllowed("the queue is not on the tenant's list")


def is_fifo(queue_url: str) -> bool:
    return queue_url.endswith(".fifo")


class SqsTarget(BatchTarget):
    """To a FIFO queue, the runs of one task are one group of messages: they keep the order in which they are sent."""

    name = "sqs"
    bytes_max = 1024 * 1024
    final = frozenset({"InvalidMessageContents", "InvalidParameterValue", "BatchRequestTooLong"})

    def __init__(self, *, client: QueueClient, pool: Executor, now: Callable[[], datetime]) -> None:
        super().__init__(pool=pool)
        self._client = client
        self._now = now

    def check(self, delivery: Delivery) -> None:
        check_queue(delivery.destination.address, delivery.queues_allowed)

    def size(self, delivery: Delivery) -> int:
        return len(delivery.body) + _ATTRIBUTES_BYTES

    def in_order(self, address: str) -> bool:
        return is_fifo(address)

    def call(self, batch: Sequence[Delivery]) -> Sequence[str | None]:
        at, queue_url = self._now(), batch[0].destination.address
        entries = [{"Id": str(index), **_message(delivery, at)} for index, delivery in enumerate(batch)]
        answer = self._client.send_message_batch(QueueUrl=queue_url, Entries=entries)
        taken = {entry["Id"] for entry in answer.get("Successful", ())}
        codes = {entry["Id"]: entry["Code"] for entry in answer.get("Failed", ())}
        return [None if entry["Id"] in taken else codes.get(entry["Id"], "") for entry in entries]


def _message(delivery: Delivery, at: datetime) -> dict[str, Any]:
    text = _NOT_CARRIED.sub(lambda char: f"\\u{ord(char[0]):04x}", delivery.body.decode())
    message = {
        "MessageBody": text,
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": value}
            for name, value in facts(delivery, text.encode(), at=at)
        },
    }
    if not is_fifo(delivery.destination.address):
        return message
    return message | {
        "MessageGroupId": delivery.task_id,
        "MessageDeduplicationId": _once(delivery),
    }


def _once(delivery: Delivery) -> str:
    """Of two messages with the same one, SQS drops the second if it comes within five minutes of the first.

    The run's id: an attempt is repeated because nobody knows whether the one before arrived, and if it did, once is
    enough. Not so where the receiver has the last word: there it arrived, the receiver said no or nothing, and
    without another message with its new token nobody could end the run.
    """
    return delivery.run_id if delivery.ack is Ack.RESPONSE else f"{delivery.run_id}:{delivery.token}"
