"""Packets on their way through SQS: as text, sent in tens, received as the records of an event."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain import instants
from postdate.domain.due import Due, Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.slots import is_id

if TYPE_CHECKING:
    from botocore.client import BaseClient

_ENTRIES_MAX = 10
_TRIES = 3
_FORM = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """A packet and what SQS says about this delivery of it."""

    packet: Packet
    message_id: str
    receipt: str
    receives: int

    @property
    def repeated(self) -> bool:
        return self.receives > 1


class Queue(Protocol):
    def send(self, packets: Iterable[Packet], *, now: datetime) -> int:
        """Sends all of them so that each arrives a second before it is due; their number. Raises Unavailable when
        one could not be sent: then the caller sends them all again, which is harmless."""


class SqsQueue:
    def __init__(self, *, url: str, client: "BaseClient") -> None:
        self._url = url
        self._client = client

    def send(self, packets: Iterable[Packet], *, now: datetime) -> int:
        waiting = iter(packets)
        sent = 0
        while chunk := list(islice(waiting, _ENTRIES_MAX)):
            self._send_chunk([_entry(place, packet, now) for place, packet in enumerate(chunk)])
            sent += len(chunk)
        return sent

    def _send_chunk(self, entries: list[dict[str, Any]]) -> None:
        for _ in range(_TRIES):
            try:
                response = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            except (ClientError, BotoCoreError) as error:
                raise Unavailable(f"{type(error).__name__} on sending") from error
            refused = {failure["Id"] for failure in response.get("Failed", ())}
            entries = [entry for entry in entries if entry["Id"] in refused]
            if not entries:
                return
        raise Unavailable(f"{len(entries)} packets were not taken by the queue")


class MemoryQueue:
    """What was sent, in order, with the delay it was sent with: the twin for tests of the rules."""

    def __init__(self) -> None:
        self.sent: list[tuple[Packet, timedelta]] = []

    def send(self, packets: Iterable[Packet], *, now: datetime) -> int:
        chunk = [(packet, packet.delay(now)) for packet in packets]
        self.sent += chunk
        return len(chunk)


def text_of(packet: Packet) -> str:
    dues = [[due.id, due.version, instants.milliseconds(due.due_at)] for due in packet.dues]
    body = {"form": _FORM, "tenant": packet.tenant, "via": packet.via.value, "dues": dues}
    return json.dumps(body, separators=(",", ":"))


def received(record: Mapping[str, Any]) -> Received:
    """Reads a record of an SQS event; raises ValueError for a body that is none of ours."""
    try:
        body = json.loads(record["body"])
        if body["form"] != _FORM or not all(is_id(id) for id, _, _ in body["dues"]):
            raise ValueError("the message is of another form")
        dues = tuple(
            Due(id=id, version=version, due_at=instants.from_milliseconds(due_ms))
            for id, version, due_ms in body["dues"]
        )
        packet = Packet(tenant=body["tenant"], via=Via(body["via"]), dues=dues)
    except (KeyError, TypeError, OverflowError) as unreadable:
        raise ValueError("the message is no packet") from unreadable
    return Received(
        packet=packet,
        message_id=record["messageId"],
        receipt=record["receiptHandle"],
        receives=int(record["attributes"]["ApproximateReceiveCount"]),
    )


def _entry(place: int, packet: Packet, now: datetime) -> dict[str, Any]:
    delay = int(packet.delay(now).total_seconds())
    return {"Id": str(place), "MessageBody": text_of(packet), "DelaySeconds": delay}
