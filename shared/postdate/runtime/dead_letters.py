"""Dead letters: read from their queue without taking them away, and deleted when nobody needs them.

`api` lists them, `operate` discards them and tidies up after operations, `erase` deletes those of its tenant, and
`reconcile` compares them with the dead items.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain import instants
from postdate.domain.due import Due
from postdate.domain.errors import Unavailable
from postdate.runtime.queue import received

if TYPE_CHECKING:
    from botocore.client import BaseClient

# ReceiveMessage and the batch calls of SQS take ten messages.
_AT_ONCE: Final = 10
# Longer than a look at a thousand letters takes. A look that dies gives its letters back after that.
HIDDEN_SECONDS: Final = 30
# SQS answers from some of its servers only: one empty answer does not say that the queue is empty.
_EMPTY_ANSWERS: Final = 2
# A look that found nothing asks all servers of SQS once more.
LETTERS_WAIT_SECONDS: Final = 1
_COUNTS: Final = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")


@dataclass(frozen=True, kw_only=True, slots=True)
class Letter:
    """A dead letter, hidden from others for a while."""

    # The name of the message, the same at each look.
    id: str
    # The name of this look at the message, by which it is deleted or released.
    receipt: str
    # Empty for a message that cannot be read.
    tenant: str
    # Its calls; empty for a message that cannot be read.
    dues: tuple[Due, ...]
    # The number of its deliveries, this look included.
    receives: int
    # The instant at which it came to this queue; of a letter that SQS moved, to the queue before.
    sent_at: datetime


class Letters(Protocol):
    def count(self) -> int:
        """Returns the number of letters, hidden ones included, as the queue estimates it. Raises Unavailable."""

    def look(self, most: int) -> list[Letter]:
        """Up to `most` letters in no order. The caller releases or deletes each of them. Raises Unavailable."""

    def release(self, letters: Iterable[Letter]) -> None:
        """Shows them to others again. Those that cannot be released show themselves in half a minute."""

    def delete(self, letters: Iterable[Letter]) -> set[str]:
        """Returns the ids of the letters that are gone. The others stay, and show themselves in half a minute."""


class SqsLetters:
    def __init__(self, *, url: str, client: "BaseClient", wait_seconds: int = 0) -> None:
        """`wait_seconds` above 0 makes SQS ask all of its servers before a look ends. A look without it may miss
        letters that lie on some of them."""
        self._url = url
        self._client = client
        self._wait_seconds = wait_seconds

    def count(self) -> int:
        try:
            answer = self._client.get_queue_attributes(QueueUrl=self._url, AttributeNames=list(_COUNTS))
        except (ClientError, BotoCoreError) as error:
            raise Unavailable(f"{type(error).__name__} on counting letters") from error
        return sum(int(answer["Attributes"][each]) for each in _COUNTS)

    def look(self, most: int) -> list[Letter]:
        found: dict[str, Letter] = {}
        empty = 0
        while len(found) < most and empty < _EMPTY_ANSWERS:
            asked = min(_AT_ONCE, most - len(found))
            try:
                answer = self._client.receive_message(
                    QueueUrl=self._url,
                    MaxNumberOfMessages=asked,
                    VisibilityTimeout=HIDDEN_SECONDS,
                    WaitTimeSeconds=self._wait_seconds if empty else 0,
                    AttributeNames=["ApproximateReceiveCount", "SentTimestamp"],
                )
            except (ClientError, BotoCoreError) as error:
                self.release(found.values())
                raise Unavailable(f"{type(error).__name__} on reading letters") from error
            letters = [_letter(message) for message in answer.get("Messages", ())]
            empty = 0 if letters else empty + 1
            # SQS may deliver a letter twice in one look.
            found |= {letter.id: letter for letter in letters}
        return list(found.values())

    def release(self, letters: Iterable[Letter]) -> None:
        for some in _chunks(letters):
            entries = [
                {"Id": str(index), "ReceiptHandle": letter.receipt, "VisibilityTimeout": 0}
                for index, letter in enumerate(some)
            ]
            self._call_batch("change_message_visibility_batch", entries)

    def delete(self, letters: Iterable[Letter]) -> set[str]:
        gone: set[str] = set()
        for some in _chunks(letters):
            entries = [
                {"Id": str(index), "ReceiptHandle": letter.receipt} for index, letter in enumerate(some)
            ]
            done = self._call_batch("delete_message_batch", entries)
            gone |= {letter.id for index, letter in enumerate(some) if str(index) in done}
        return gone

    def _call_batch(self, operation: str, entries: list[dict[str, Any]]) -> set[str]:
        """Calls a batch operation of SQS, and returns the ids of the entries that succeeded."""
        try:
            answer = getattr(self._client, operation)(QueueUrl=self._url, Entries=entries)
        except (ClientError, BotoCoreError):
            return set()
        return {entry["Id"] for entry in answer.get("Successful", ())}


def _chunks(letters: Iterable[Letter]) -> Iterable[list[Letter]]:
    left = iter(letters)
    return iter(lambda: list(islice(left, _AT_ONCE)), [])


def _letter(message: dict[str, Any]) -> Letter:
    counted = message["Attributes"]
    tenant, dues = _read(message)
    return Letter(
        id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        tenant=tenant,
        dues=dues,
        receives=int(counted["ApproximateReceiveCount"]),
        sent_at=instants.from_milliseconds(int(counted["SentTimestamp"])),
    )


def _read(message: dict[str, Any]) -> tuple[str, tuple[Due, ...]]:
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": message["Attributes"],
    }
    try:
        packet = received(record).packet
    except ValueError:
        return "", ()
    return packet.tenant, packet.dues


class MemoryLetters:
    """`lying` are the letters in the queue."""

    def __init__(self, letters: Sequence[Letter] = ()) -> None:
        self.lying = {letter.id: letter for letter in letters}

    def count(self) -> int:
        return len(self.lying)

    def look(self, most: int) -> list[Letter]:
        return list(self.lying.values())[:most]

    def release(self, letters: Iterable[Letter]) -> None:
        pass

    def delete(self, letters: Iterable[Letter]) -> set[str]:
        gone = {letter.id for letter in letters}
        self.lying = {id: letter for id, letter in self.lying.items() if id not in gone}
        return gone
