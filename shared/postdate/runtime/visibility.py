"""The visibility of a batch's messages, so that a message whose worker dies or fails comes back at the right time."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from botocore.exceptions import BotoCoreError, ClientError

from postdate.runtime.observability import logger
from postdate.runtime.queue import Received

if TYPE_CHECKING:
    from botocore.client import BaseClient

_BACK_OFF_MAX: Final = timedelta(minutes=15)
_EXPONENT_MAX: Final = 16
# ChangeMessageVisibilityBatch takes ten messages.
_ENTRIES_MAX: Final = 10


class Visibility:
    def __init__(self, *, url: str, client: "BaseClient", lease: timedelta) -> None:
        self._url = url
        self._client = client
        self._lease = lease

    def extend(self, messages: Iterable[Received], visible_after: timedelta) -> None:
        """A message that dies with this worker comes back when the lease is over, not after the queue's own time."""
        self.hide([(message, visible_after) for message in messages])

    def back_off(self, messages: Iterable[Received]) -> None:
        """Hides messages that failed, longer after each delivery: eight deliveries outlast an outage of half an
        hour."""
        self.hide([(message, self._pause(message.receives)) for message in messages])

    def _pause(self, receives: int) -> timedelta:
        return min(self._lease * (1 << min(receives - 1, _EXPONENT_MAX)), _BACK_OFF_MAX)

    def hide(self, messages: Sequence[tuple[Received, timedelta]]) -> None:
        """Hides each message for a time of its own, cut to whole seconds."""
        errors = [
            error
            for start in range(0, len(messages), _ENTRIES_MAX)
            for error in self._hide_some(messages[start : start + _ENTRIES_MAX])
        ]
        if errors:
            logger.warning(
                "the visibility of messages could not be changed",
                extra={"action": "not_extended", "errors": errors},
            )

    def _hide_some(self, messages: Sequence[tuple[Received, timedelta]]) -> list[str]:
        entries = [
            {
                "Id": str(index),
                "ReceiptHandle": message.receipt,
                "VisibilityTimeout": int(until.total_seconds()),
            }
            for index, (message, until) in enumerate(messages)
        ]
        try:
            answer = self._client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)
        except (ClientError, BotoCoreError) as error:
            return [type(error).__name__]
        return [failure["Code"] for failure in answer.get("Failed", ())]
