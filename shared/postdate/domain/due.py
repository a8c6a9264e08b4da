"""Messages of the queues: which items are due and when. A message holds nothing else about an item."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby, islice
from operator import itemgetter

from postdate.domain import instants
from postdate.domain.item import Item

# A worker claims a whole packet in one request, and BatchExecuteStatement takes 25 statements.
PACKET_ITEMS_MAX = 25
# SQS delays a message by 15 minutes at most.
DELAY_MAX = timedelta(minutes=15)
# A packet arrives early by this time, so that the worker waits for the instant and not the item for a worker.
AHEAD = timedelta(seconds=1)
# A worker keeps a one-time task that may begin within this time, instead of a message that comes back.
WAIT_MAX = timedelta(seconds=3)
_SECOND = timedelta(seconds=1)


class Via(StrEnum):
    """The sender of a packet. The history of a task names it."""

    REGISTRATION = "registration"
    SWEEP = "sweep"
    CLOSING = "closing"
    AUDIT = "audit"
    RETRY = "retry"
    POSTPONED = "postponed"
    DEAD = "dead"
    UNKNOWN = "unknown"

    @classmethod
    def _missing_(cls, value: object) -> "Via":
        """A newer release may name a sender that this one does not know. Its calls count all the same."""
        return cls.UNKNOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """The call of one item. The worker compares it with the item's row."""

    # The id of the task, run or payment, from its row.
    id: str
    # The version of the row when the call was sent. A dead letter's version tells whether the item died since.
    version: int
    # The `due_at` of the row when the call was sent. A row with another instant has a call of its own.
    due_at: datetime

    @classmethod
    def of(cls, item: Item) -> "Due":
        return cls(id=item.id, version=item.version, due_at=item.due_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class Packet:
    """One message: up to 25 items of one tenant that are due within the same second, or wait for the same instant."""

    # The owner of all its items.
    tenant: str
    # The sender.
    via: Via
    # One call for each item; never empty.
    dues: tuple[Due, ...]
    # True if a worker received the packet before and sent it again. Such a packet counts as redelivered.
    seen: bool = False
    # The instant before which the packet must not arrive, such as the end of a lease; None for a packet that arrives a
    # second before its first item is due.
    not_before: datetime | None = None
    # The author of a redrive, as `<type>:<id>`; empty for every other packet. It signs the change that follows.
    by: str = ""

    @property
    def first_due_at(self) -> datetime:
        return min(due.due_at for due in self.dues)

    def delay(self, now: datetime) -> timedelta:
        """The delay in the queue, in whole seconds: until one to two seconds before the first item is due.

        With `not_before` the delay is rounded up, because a packet that comes too early would be deferred again.
        """
        if self.not_before is None:
            seconds = (self.first_due_at - AHEAD - now) // _SECOND
        else:
            seconds = -((now - self.not_before) // _SECOND)
        return max(timedelta(0), min(seconds * _SECOND, DELAY_MAX))


def pack(dues: Iterable[tuple[str, Due]], via: Via, *, ahead_max: int | None = None) -> Iterator[Packet]:
    """Packs (tenant, due) pairs into packets: one tenant, one second, at most 25 items each. Earlier seconds come
    first, and within a second the tenants by name. The packets of one tenant and second keep the order of the pairs.

    Items of one tenant beyond `ahead_max` in one second come last. Their packets arrive at the instant, not a second
    earlier. Otherwise workers that wait for one tenant's items could not serve other tenants at that instant.
    """
    floods: list[Packet] = []
    # The sort compares second and tenant alone. It is stable, so the pairs of one packet keep their order.
    together = [((instants.milliseconds(due.due_at) // 1000, tenant), due) for tenant, due in dues]
    for (_, tenant), group in groupby(sorted(together, key=itemgetter(0)), key=itemgetter(0)):
        members, count = (due for _, due in group), 0
        while chunk := tuple(islice(members, PACKET_ITEMS_MAX)):
            count += len(chunk)
            packet = Packet(tenant=tenant, via=via, dues=chunk)
            if ahead_max is not None and count > ahead_max:
                floods.append(replace(packet, not_before=packet.first_due_at))
            else:
                yield packet
    yield from floods
