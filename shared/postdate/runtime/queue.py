"""Packets on their way through SQS: as text, sent in tens, received as the records of an event."""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from postdate.domain import instants
from postdate.domain.due import Due, Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.slots import is_id
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger

if TYPE_CHECKING:
    from botocore.client import BaseClient

# SendMessageBatch takes ten messages.
_ENTRIES_MAX = 10
_TRIES = 3
_SENDERS = 8
_FORM = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Received:
    """A packet and what SQS says about this delivery of it."""

    # The packet.
    packet: Packet
    # The name of the message, by which a batch reports failures.
    message_id: str
    # The name of this delivery, by which the message is deleted or kept longer.
    receipt: str
    # How often SQS has delivered the message, this time included.
    receives: int

    @property
    def repeated(self) -> bool:
        """A worker had it before."""
        return self.receives > 1 or self.packet.seen


class Queue(Protocol):
    def send(self, packets: Iterable[Packet]) -> None:
        """Sends all of them so that each arrives a second before it is due. Raises Unavailable when one could not be
        sent: then the caller sends them all again, which is harmless."""


class SqsQueue:
    def __init__(self, *, url: str, client: "BaseClient", clock: Clock) -> None:
        self._url = url
        self._client = client
        self._clock = clock

    def send(self, packets: Iterable[Packet]) -> None:
        waiting = iter(packets)
        chunks = iter(lambda: list(islice(waiting, _ENTRIES_MAX)), [])
        # One chunk is the usual case, and needs no threads.
        first, second = next(chunks, []), next(chunks, [])
        if not second:
            self._send_chunk(first)
            return
        with ThreadPoolExecutor(_SENDERS) as senders:
            for _ in senders.map(self._send_chunk, chain([first, second], chunks)):
                pass

    def _send_chunk(self, packets: list[Packet]) -> None:
        """The delay is counted from the moment of sending: a long queue of chunks takes its time."""
        now = self._clock.now()
        entries = [_entry(index, packet, now) for index, packet in enumerate(packets)]
        for _ in range(_TRIES if entries else 0):
            try:
                response = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            except (ClientError, BotoCoreError) as error:
                logger.error("packets could not be sent", extra={"action": "not_sent", "error": str(error)})
                raise Unavailable(f"{type(error).__name__} on sending") from error
            refused = {failure["Id"] for failure in response.get("Failed", ())}
            entries = [entry for entry in entries if entry["Id"] in refused]
            if not entries:
                return
        if entries:
            raise Unavailable(f"{len(entries)} packets were refused by the queue")


class MemoryQueue:
    """A queue in memory for unit tests: keeps the packets in the order of sending, each with its delay."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.sent: list[tuple[Packet, timedelta]] = []

    def send(self, packets: Iterable[Packet]) -> None:
        self.sent += [(packet, packet.delay(self._clock.now())) for packet in packets]


def text_of(packet: Packet) -> str:
    dues = [[due.id, due.version, instants.milliseconds(due.due_at)] for due in packet.dues]
    body: dict[str, Any] = {"form": _FORM, "tenant": packet.tenant, "via": packet.via.value, "dues": dues}
    if packet.seen:
        body["seen"] = True
    if packet.by:
        body["by"] = packet.by
    return json.dumps(body, separators=(",", ":"))


def received(record: Mapping[str, Any]) -> Received:
    """Reads a record of an SQS event; raises ValueError for a body that is none of ours."""
    try:
        body = json.loads(record["body"])
        # Ids decide which rows are read, so nothing else may pass as one.
        if body["form"] != _FORM or not all(is_id(id) for id, _, _ in body["dues"]):
            raise ValueError("the message is of another form")
        dues = tuple(
            Due(id=id, version=version, due_at=instants.from_milliseconds(due_ms))
            for id, version, due_ms in body["dues"]
        )
        packet = Packet(
            tenant=body["tenant"],
            via=Via(body["via"]),
            dues=dues,
            seen=body.get("seen") is True,
            by=str(body.get("by", "")),
        )
    except (KeyError, TypeError, OverflowError) as unreadable:
        raise ValueError("the message is no packet") from unreadable
    return Received(
        packet=packet,
        message_id=record["messageId"],
        receipt=record["receiptHandle"],
        receives=int(record["attributes"]["ApproximateReceiveCount"]),
    )


def _entry(index: int, packet: Packet, now: datetime) -> dict[str, Any]:
    """The group makes a standard queue a fair one: while a tenant has a backlog, other tenants' messages go first."""
    return {
        "Id": str(index),
        "MessageBody": text_of(packet),
        "DelaySeconds": int(packet.delay(now).total_seconds()),
        "MessageGroupId": packet.tenant,
    }
