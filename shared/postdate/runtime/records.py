"""The records of an SQS event as packets; what is none of ours is told apart and takes no other with it."""

from collections.abc import Iterable, Mapping
from typing import Any

from postdate.runtime.observability import logger
from postdate.runtime.queue import Received, received


def read(records: Iterable[Mapping[str, Any]]) -> tuple[list[Received], list[str]]:
    """The messages that are packets, and the ids of those that are not."""
    messages, unreadable = [], []
    for record in records:
        try:
            messages.append(received(record))
        except ValueError:
            logger.exception(
                "a message is not a packet", extra={"action": "unreadable", "id": record["messageId"]}
            )
            unreadable.append(record["messageId"])
    return messages, unreadable
