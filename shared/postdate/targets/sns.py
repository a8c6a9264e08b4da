"""Delivery as a message to a topic of the task's owner."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from postdate.targets.kind import Listed, Member, Parts, Service, TargetKind
from postdate.targets.messages import MessageTarget

_LISTED: Final = Listed(noun="topic", metavar="ARN", help="an SNS topic its tasks may go to")


class SnsTarget(MessageTarget):
    """Delivered means taken: SNS hands the message to the topic's subscriptions, and tries again where that fails."""

    name = "sns"
    listed = _LISTED
    body = "Message"
    # For all messages of a call with their attributes, and so for a message alone: a payload of 255 KB fits.
    bytes_max = 256 * 1024
    final = frozenset(
        {"InvalidParameter", "ParameterValueInvalid", "BatchRequestTooLong", "ValidationException"}
    )

    def send(self, address: str, entries: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._client.publish_batch(
            TopicArn=address, PublishBatchRequestEntries=entries
        )
        return answer


def _made(parts: Parts) -> SnsTarget:
    return SnsTarget(client=parts.client("sns"), pool=parts.threads("sns"), now=parts.now)


SNS: Final = TargetKind(
    name="sns",
    title="Sns",
    members=(
        Member(
            name="topic_arn",
            of="address",
            meaning="A topic on your tenant's list. SNS takes messages of up to 256 KB, attributes included, so a "
            "payload has at most 255 KB.",
        ),
    ),
    listed=_LISTED,
    service=Service(name="sns", operation="PublishBatch", action="sns:Publish"),
    make=_made,
)
