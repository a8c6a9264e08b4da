"""Messages that a worker takes from its queue by itself, while deliveries keep it from ending.

Lambda gives a worker its next messages when it has answered for the last ones. A worker that waits for a receiver would
so be kept from all other work by its slowest delivery.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.runtime import records
from postdate.runtime.observability import logger
from postdate.runtime.queue import Received

if TYPE_CHECKING:
    from botocore.client import BaseClient

# ReceiveMessage takes ten messages.
MESSAGES_MAX: Final = 10
# A worker that could end waits this long for its last question: longer ones would keep it.
_WAIT_SECONDS: Final = 1

Took = Callable[[list[Received]], None]


class Further(Protocol):
    def ask(self, took: Took, visible_after: timedelta) -> None:
        """Asks for messages and returns; `took` is called once, from any thread, with none if there are none. They come
        back to the queue after that time."""

    def delete(self, messages: Iterable[Received]) -> None:
        """Deletes messages whose calls are done. A message that cannot be deleted is delivered again, which is
        harmless."""


class SqsFurther:
    def __init__(self, *, url: str, client: "BaseClient") -> None:
        self._url = url
        self._client = client
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="further")

    def ask(self, took: Took, visible_after: timedelta) -> None:
        self._pool.submit(self._ask, took, visible_after)

    def delete(self, messages: Iterable[Received]) -> None:
        left = iter(messages)
        while some := list(islice(left, MESSAGES_MAX)):
            entries = [
                {"Id": str(index), "ReceiptHandle": message.receipt} for index, message in enumerate(some)
            ]
            try:
                answer = self._client.delete_message_batch(QueueUrl=self._url, Entries=entries)
                errors = [failure["Code"] for failure in answer.get("Failed", ())]
            except (ClientError, BotoCoreError) as error:
                errors = [type(error).__name__]
            if errors:
                logger.warning(
                    "messages could not be deleted and will be redelivered",
                    extra={"action": "not_deleted", "errors": errors},
                )

    def _ask(self, took: Took, visible_after: timedelta) -> None:
        found: list[Received] = []
        try:
            found = self._received(visible_after)
        finally:
            # In any case: the worker asks no further while it waits for this answer.
            took(found)

    def _received(self, visible_after: timedelta) -> list[Received]:
        try:
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=MESSAGES_MAX,
                WaitTimeSeconds=_WAIT_SECONDS,
                VisibilityTimeout=int(visible_after.total_seconds()),
                MessageSystemAttributeNames=["ApproximateReceiveCount"],
            )
        except (ClientError, BotoCoreError) as error:
            logger.warning(
                "further messages could not be received",
                extra={"action": "not_received", "errors": [type(error).__name__]},
            )
            return []
        messages, _ = records.read(_record(message) for message in answer.get("Messages", ()))
        return messages


def _record(message: dict[str, Any]) -> dict[str, Any]:
    """A received message in the form of a record of a Lambda event."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
    }
