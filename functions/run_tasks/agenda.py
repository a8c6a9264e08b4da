"""The calls of a batch in the order in which they are looked at."""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from postdate.domain.due import PACKET_ITEMS_MAX, Due
from postdate.runtime.queue import Received


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """One item of one message, on its way through this batch, looked at `at`."""

    due: Due
    message: Received
    at: datetime


def in_turn(calls: Iterable[Call]) -> list[Call]:
    """In the order of their instants; at one instant tenants take turns, so that one who has many calls keeps nobody
    else waiting."""
    turns: Counter[tuple[datetime, str]] = Counter()
    placed = []
    for call in calls:
        whose = call.at, call.message.packet.tenant
        placed.append((call.at, turns[whose], call))
        turns[whose] += 1
    return [call for _, _, call in sorted(placed, key=lambda place: place[:2])]


def take_due(agenda: deque[Call], now: datetime) -> list[Call]:
    """The next calls whose instant has come, at most a packet's worth and each task once."""
    taken: dict[str, Call] = {}
    while agenda and agenda[0].at <= now and len(taken) < PACKET_ITEMS_MAX:
        if agenda[0].due.id in taken:
            break
        call = agenda.popleft()
        taken[call.due.id] = call
    return list(taken.values())
