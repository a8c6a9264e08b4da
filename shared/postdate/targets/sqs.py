"""Delivery as a message to a queue of the task's owner."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from postdate.targets.kind import Listed, Member, Parts, Service, TargetKind
from postdate.targets.messages import MessageTarget

_LISTED: Final = Listed(noun="queue", metavar="URL", help="an SQS queue its tasks may go to")


class SqsTarget(MessageTarget):
    name = "sqs"
    listed = _LISTED
    body = "MessageBody"
    bytes_max = 1024 * 1024
    final = frozenset({"InvalidMessageContents", "InvalidParameterValue", "BatchRequestTooLong"})

    def send(self, address: str, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._client.send_message_batch(QueueUrl=address, Entries=entries)
        return answer


def _made(parts: Parts) -> SqsTarget:
    return SqsTarget(client=parts.client("sqs"), pool=parts.threads("sqs"), now=parts.now)


SQS: Final = TargetKind(
    name="sqs",
    title="Sqs",
    members=(Member(name="queue_url", of="address", meaning="A queue on your tenant's list."),),
    listed=_LISTED,
    service=Service(name="sqs", operation="SendMessageBatch", action="sqs:SendMessage"),
    make=_made,
)
