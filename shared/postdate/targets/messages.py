"""A delivery as a message of a service that has queues' words for it: SQS and SNS."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from postdate.domain.task import Ack
from postdate.targets.base import Delivery
from postdate.targets.facts import facts

# Names and values of the attributes count too; two signatures included they come to less.
ATTRIBUTES_BYTES: Final = 1024
# SQS silently puts U+FFFD in the place of these two. In JSON they only stand inside strings, where they have an escape.
_NOT_CARRIED: Final = re.compile("[\ufffe\uffff]")


def is_fifo(address: str) -> bool:
    return address.endswith(".fifo")


def message(delivery: Delivery, at: datetime, *, body: str) -> dict[str, Any]:
    """An entry of a batch, without its id. `body` is the service's word for the body.

    To a FIFO address, the runs of one task are one group of messages: they keep the order in which they are sent.
    """
    text = _NOT_CARRIED.sub(lambda char: f"\\u{ord(char[0]):04x}", delivery.body.decode())
    made = {
        body: text,
        "MessageAttributes": {
            name: {"DataType": "String", "StringValue": value}
            for name, value in facts(delivery, text.encode(), at=at)
        },
    }
    if not is_fifo(delivery.destination.address):
        return made
    return made | {"MessageGroupId": delivery.task_id, "MessageDeduplicationId": _once(delivery)}


def answered(entries: Iterable[Mapping[str, Any]], answer: Mapping[str, Any]) -> Sequence[str | None]:
    """For each entry None, or the code it was refused with, empty if the answer does not say."""
    taken = {entry["Id"] for entry in answer.get("Successful", ())}
    codes = {entry["Id"]: entry["Code"] for entry in answer.get("Failed", ())}
    return [None if entry["Id"] in taken else codes.get(entry["Id"], "") for entry in entries]


def _once(delivery: Delivery) -> str:
    """Of two messages with the same one, a FIFO queue drops the second if it comes within five minutes of the first.

    The run's id: an attempt is repeated because nobody knows whether the one before arrived, and if it did, once is
    enough. Not so where the receiver has the last word: there it arrived, the receiver said no or nothing, and
    without another message with its new token nobody could end the run.
    """
    return delivery.run_id if delivery.ack is Ack.RESPONSE else f"{delivery.run_id}:{delivery.token}"
