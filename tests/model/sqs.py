"""A queue that gives each message at least once: hidden while somebody has it, back when its time is over.

A message is deleted by who was given it last and by nobody else: that is what SQS says of receipts.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Message(NamedTuple):
    """A call: the item's number, its version and instant; how often it was given to somebody, and from when it can
    be had. `seen` says that a worker sent it on."""

    item: int
    version: int
    due: int
    seen: bool
    receives: int
    visible: int

    @property
    def repeated(self) -> bool:
        return self.seen or self.receives > 1


Queue = tuple[Message, ...]


def sent(queue: Queue, message: Message) -> Queue:
    return tuple(sorted((*queue, message)))


def received(queue: Queue, now: int) -> Iterator[Message]:
    """Messages that a worker can receive."""
    for place, message in enumerate(queue):
        if message.visible <= now and message not in queue[:place]:
            yield message


def doubled(queue: Queue, now: int) -> Iterator[Message]:
    """Messages in a worker's hands that another worker may receive as well."""
    for place, message in enumerate(queue):
        if message.visible > now and message.receives and message not in queue[:place]:
            yield message


def given(queue: Queue, message: Message, until: int) -> tuple[Queue, Message]:
    mine = message._replace(receives=message.receives + 1, visible=until)
    return sent(deleted(queue, message), mine), mine


def extended(queue: Queue, mine: Message, until: int) -> tuple[Queue, Message]:
    """Only who was given it last makes it stay away longer."""
    if mine not in queue:
        return queue, mine
    longer = mine._replace(visible=until)
    return sent(deleted(queue, mine), longer), longer


def deleted(queue: Queue, mine: Message) -> Queue:
    if mine not in queue:
        return queue
    place = queue.index(mine)
    return queue[:place] + queue[place + 1 :]


def left(queue: Queue, mine: Message, last: int) -> Queue:
    """The worker that held the message has died: the message returns, at the latest at the end of time."""
    if mine not in queue or mine.visible <= last:
        return queue
    return sent(deleted(queue, mine), mine._replace(visible=last))
