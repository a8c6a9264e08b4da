"""Delivery as a message: what the services of AWS have in common that carry attributes and order by groups."""

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import datetime
from typing import Any, ClassVar, Final

from postdate.domain.task import Ack
from postdate.targets.base import Delivery
from postdate.targets.batches import BatchTarget
from postdate.targets.facts import facts

# Names and values of the attributes count too; two signatures included they come to less.
_ATTRIBUTES_BYTES: Final = 1024
# A message has at most ten attributes. This one says what is true of every message.
_NOT_TOLD: Final = frozenset({"Content-Type"})
# SQS silently puts U+FFFD in the place of these two. In JSON they only stand inside strings, where they have an escape.
_NOT_CARRIED: Final = re.compile("[\ufffe\uffff]")


class MessageTarget(BatchTarget):
    """A target that sends messages in batches. To a FIFO address, the runs of one task are one group of messages: they
    keep the order in which they are sent.

    `body` is the service's name for the text of a message.
    """

    body: ClassVar[str]

    def __init__(self, *, client: Any, pool: Executor, now: Callable[[], datetime]) -> None:
        super().__init__(pool=pool)
        self._client = client
        self._now = now

    @abstractmethod
    def send(self, address: str, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Makes one call. Its answer names each entry as successful or failed."""

    def size(self, delivery: Delivery) -> int:
        return len(delivery.body) + _ATTRIBUTES_BYTES

    def in_order(self, address: str) -> bool:
        return _is_fifo(address)

    def call(self, batch: Sequence[Delivery]) -> Sequence[str | None]:
        at = self._now()
        entries = [{"Id": str(index), **self._message(delivery, at)} for index, delivery in enumerate(batch)]
        answer = self.send(batch[0].destination.address, entries)
        taken = {entry["Id"] for entry in answer.get("Successful", ())}
        codes = {entry["Id"]: entry["Code"] for entry in answer.get("Failed", ())}
        return [None if entry["Id"] in taken else codes.get(entry["Id"], "") for entry in entries]

    def _message(self, delivery: Delivery, at: datetime) -> dict[str, Any]:
        """The message of a delivery. The signature covers the text as it is sent."""
        text = _NOT_CARRIED.sub(lambda char: f"\\u{ord(char[0]):04x}", delivery.body.decode())
        message = {
            self.body: text,
            "MessageAttributes": {
                name: {"DataType": "String", "StringValue": value}
                for name, value in facts(delivery, text.encode(), at=at)
                if name not in _NOT_TOLD
            },
        }
        if not _is_fifo(delivery.destination.address):
            return message
        return message | {"MessageGroupId": delivery.task_id, "MessageDeduplicationId": _once(delivery)}


def _is_fifo(address: str) -> bool:
    return address.endswith(".fifo")


def _once(delivery: Delivery) -> str:
    """Deduplication id of a message: the service drops a second message with the same id within five minutes.

    The id is the run's id: an attempt is repeated because it is unknown whether the attempt before arrived, and one
    arrival is enough. With `ack: explicit` the id also holds the token: there the message arrived, the receiver
    refused it or did not answer, and only a further message with a new token lets the receiver end the run.
    """
    return delivery.run_id if delivery.ack is Ack.RESPONSE else f"{delivery.run_id}:{delivery.token}"
