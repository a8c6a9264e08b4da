"""Number of messages in a queue."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain.errors import Unavailable

if TYPE_CHECKING:
    from botocore.client import BaseClient

_WAITING: Final = "ApproximateNumberOfMessages"
_IN_FLIGHT: Final = "ApproximateNumberOfMessagesNotVisible"
_DELAYED: Final = "ApproximateNumberOfMessagesDelayed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Depth:
    # Messages that a worker may receive now.
    waiting: int
    # Messages that workers have received and not deleted.
    in_flight: int
    # Messages that SQS keeps back until their delay is over.
    delayed: int


def depth(client: "BaseClient", url: str) -> Depth:
    """The depth of a queue. SQS counts a change some seconds late. Raises Unavailable if SQS does not answer."""
    try:
        answer = client.get_queue_attributes(QueueUrl=url, AttributeNames=[_WAITING, _IN_FLIGHT, _DELAYED])
    except (BotoCoreError, ClientError) as error:
        raise Unavailable("the depth of a queue is not known now") from error
    found = answer["Attributes"]
    return Depth(waiting=int(found[_WAITING]), in_flight=int(found[_IN_FLIGHT]), delayed=int(found[_DELAYED]))
