"""Delivery as a message to a queue of the task's owner."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from datetime import datetime
from typing import Any, Final, Protocol

from postdate.targets.base import Delivery
from postdate.targets.batches import BatchTarget
from postdate.targets.kind import Kind, Listed, Member, Parts, Service
from postdate.targets.messages import ATTRIBUTES_BYTES, answered, is_fifo, message

_LISTED: Final = Listed(noun="queue", metavar="URL", help="an SQS queue its tasks may go to")


class QueueClient(Protocol):
    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> Mapping[str, Any]: ...  # noqa: N803


class SqsTarget(BatchTarget):
    name = "sqs"
    listed = _LISTED
    bytes_max = 1024 * 1024
    final = frozenset({"InvalidMessageContents", "InvalidParameterValue", "BatchRequestTooLong"})

    def __init__(self, *, client: QueueClient, pool: Executor, now: Callable[[], datetime]) -> None:
        super().__init__(pool=pool)
        self._client = client
        self._now = now

    def size(self, delivery: Delivery) -> int:
        return len(delivery.body) + ATTRIBUTES_BYTES

    def in_order(self, address: str) -> bool:
        return is_fifo(address)

    def call(self, batch: Sequence[Delivery]) -> Sequence[str | None]:
        at, queue_url = self._now(), batch[0].destination.address
        entries = [
            {"Id": str(index), **message(delivery, at, body="MessageBody")}
            for index, delivery in enumerate(batch)
        ]
        return answered(entries, self._client.send_message_batch(QueueUrl=queue_url, Entries=entries))


def _made(parts: Parts) -> SqsTarget:
    return SqsTarget(client=parts.client("sqs"), pool=parts.threads("sqs"), now=parts.now)


SQS: Final = Kind(
    name="sqs",
    title="Sqs",
    members=(Member(name="queue_url", of="address", meaning="A queue on your tenant's list."),),
    listed=_LISTED,
    service=Service(name="sqs", actions=("sqs:SendMessage",)),
    make=_made,
)
