"""What travels through the queue: which items are due and when, and nothing else about them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby, islice

from postdate.domain import instants
from postdate.domain.item import Item

PACKET_ITEMS_MAX = 25
DELAY_MAX = timedelta(minutes=15)
AHEAD = timedelta(seconds=1)
WAIT_MAX = timedelta(seconds=3)
_SECOND = timedelta(seconds=1)


class Via(StrEnum):
    """What sent a packet; the history of a task names it."""

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
        """Newer code may have reasons of its own to send a call, and that is none not to answer it."""
        return cls.UNKNOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class Due:
    """An item's call: the version it had when the call was sent, and the instant it is due."""

    id: str
    version: int
    due_at: datetime

    @classmethod
    def of(cls, item: Item) -> "Due":
        return cls(id=item.id, version=item.version, due_at=item.due_at)


@dataclass(frozen=True, kw_only=True, slots=True)
class Packet:
    """Up to 25 items of one tenant that are due within the same second, or wait for the same instant.

    `seen` says that a worker had it before and sent it on: what is true of a message delivered twice is true of it.
    """

    tenant: str
    via: Via
    dues: tuple[Due, ...]
    seen: bool = False
    not_before: datetime | None = None

    @property
    def first_due_at(self) -> datetime:
        return min(due.due_at for due in self.dues)

    def delay(self, now: datetime) -> timedelta:
        """How long the queue holds it, in whole seconds: until one to two seconds before it is due.

        What waits for `not_before` is rounded up instead, or it would come back only to be deferred again.
        """
        if self.not_before is None:
            seconds = (self.first_due_at - AHEAD - now) // _SECOND
        else:
            seconds = -((now - self.not_before) // _SECOND)
        return max(timedelta(0), min(seconds * _SECOND, DELAY_MAX))


def pack(dues: Iterable[tuple[str, Due]], via: Via, *, ahead_max: int | None = None) -> Iterator[Packet]:
    """Packets of (tenant, due) pairs: one tenant, one second, at most 25 items each; the soonest first, and otherwise
    in the order in which they are given.

    What a tenant has beyond `ahead_max` in one second comes after everything else, and arrives at its instant and not
    ahead of it: workers that wait for a flood of his would be in nobody else's reach at that instant.
    """
    floods: list[Packet] = []

    def second_and_tenant(pair: tuple[str, Due]) -> tuple[int, str]:
        return instants.milliseconds(pair[1].due_at) // 1000, pair[0]

    for (_, tenant), group in groupby(sorted(dues, key=second_and_tenant), key=second_and_tenant):
        members, count = (due for _, due in group), 0
        while chunk := tuple(islice(members, PACKET_ITEMS_MAX)):
            count += len(chunk)
            packet = Packet(tenant=tenant, via=via, dues=chunk)
            if ahead_max is not None and count > ahead_max:
                floods.append(replace(packet, not_before=packet.first_due_at))
            else:
                yield packet
    yield from floods
