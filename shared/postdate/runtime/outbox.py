"""The messages that follow from what a batch committed: retries, deferred calls, dead letters.

They are sent after the commit they follow from. When one cannot be sent, the message that led to it comes back, finds
the item as it is and sends again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby, islice
from typing import Literal

from postdate.domain import instants
from postdate.domain.due import PACKET_ITEMS_MAX, Due, Packet, Via
from postdate.domain.errors import Unavailable
from postdate.domain.item import Item
from postdate.runtime.queue import Queue, Received

_Where = Literal["queue", "dead_letters", "slow"]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Line:
    # The queue that the call goes to.
    where: _Where
    # The owner of the item.
    tenant: str
    # The sender of the call, as packets tell it.
    via: Via
    # The call.
    due: Due
    # True if a worker has had the call before.
    seen: bool
    # The earliest instant of the delivery; None for at once.
    not_before: datetime | None
    # The message that the call follows from, which is kept if the call cannot be sent.
    message_id: str
    # The author of what the call leads to; empty for none.
    by: str
    # Lines that are equal in this travel in one packet.
    together: tuple[str, str, str, str, bool, bool, int]


class Outbox:
    """`slow` is the queue of the lane for slow destinations, where there is one."""

    def __init__(self, *, queue: Queue, dead_letters: Queue, slow: Queue | None = None) -> None:
        self._queues: dict[_Where, Queue] = {"queue": queue, "dead_letters": dead_letters}
        if slow is not None:
            self._queues["slow"] = slow
        self._lines: list[_Line] = []
        self.failed_messages: set[str] = set()

    def retry(self, item: Item, message: Received) -> None:
        self._add("queue", Via.RETRY, Due.of(item), message)

    def postpone(self, item: Item, message: Received) -> None:
        """Sends the call of an item that was due and was given a later instant."""
        self._add("queue", Via.POSTPONED, Due.of(item), message)

    def bury(self, item: Item, message: Received) -> None:
        """The dead letter carries the version that died: a redrive brings back that death and no other."""
        self._add("dead_letters", Via.DEAD, Due.of(item), message)

    def defer(self, due: Due, message: Received, *, not_before: datetime | None) -> None:
        """Sends a call again for `not_before`, such as the end of another worker's lease, or with None for its
        instant."""
        self._add("queue", message.packet.via, due, message, seen=True, not_before=not_before)

    def send_on(self, due: Due, message: Received, *, not_before: datetime | None) -> None:
        """Sends a call on unchanged. It counts as not seen by this worker, because the worker did nothing about it."""
        self._add("queue", message.packet.via, due, message, seen=message.repeated, not_before=not_before)

    def move(self, due: Due, message: Received) -> None:
        """Sends a call unchanged to the lane for slow destinations."""
        self._add("slow", message.packet.via, due, message, seen=message.repeated)

    def send(self) -> None:
        lines, self._lines = sorted(self._lines, key=lambda line: line.together), []
        for where, group in groupby(lines, key=lambda line: line.where):
            packets = list(_packets(group))
            try:
                self._queues[where].send(packet for packet, _ in packets)
            # The messages that led to these calls stay in their queue, so a worker decides and sends again.
            except Unavailable:
                self.failed_messages |= {message_id for _, messages in packets for message_id in messages}

    def _add(
        self,
        where: _Where,
        via: Via,
        due: Due,
        message: Received,
        *,
        seen: bool = False,
        not_before: datetime | None = None,
    ) -> None:
        """Keeps a call until `send`. The author of a redrive stays with a call that is sent on unchanged, and no
        other."""
        tenant, by = message.packet.tenant, message.packet.by if via is message.packet.via else ""
        second = instants.milliseconds(not_before or due.due_at) // 1000
        self._lines.append(
            _Line(
                where=where,
                tenant=tenant,
                via=via,
                due=due,
                seen=seen,
                not_before=not_before,
                message_id=message.message_id,
                by=by,
                together=(where, tenant, via, by, seen, not_before is not None, second),
            )
        )


def _packets(lines: Iterator[_Line]) -> Iterator[tuple[Packet, set[str]]]:
    """The packets, each with the ids of the messages that led to it. Several copies of one call become one: a stop that
    lasts sends each copy on again and again, and what is delivered twice would double each time."""
    for _, group in groupby(lines, key=lambda line: line.together):
        copies: dict[Due, list[_Line]] = {}
        for line in group:
            copies.setdefault(line.due, []).append(line)
        calls = iter(copies.items())
        while chunk := list(islice(calls, PACKET_ITEMS_MAX)):
            taken = [line for _, each in chunk for line in each]
            first = taken[0]
            packet = Packet(
                tenant=first.tenant,
                via=first.via,
                dues=tuple(due for due, _ in chunk),
                seen=first.seen,
                by=first.by,
                not_before=max((line.not_before for line in taken if line.not_before), default=None),
            )
            yield packet, {line.message_id for line in taken}
