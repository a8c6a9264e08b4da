"""The calls of a batch in the order in which they are looked at."""

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from postdate.domain.due import WAIT_MAX, Due
from postdate.runtime.queue import Received


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """The call for one item of one message in this batch."""

    # The call.
    due: Due
    # The message that brought it.
    message: Received
    # The instant at which the worker looks at it.
    at: datetime


def calls_of(messages: Sequence[Received], now: datetime) -> list[Call]:
    """Returns the calls of these messages. A call that is due later than a worker may wait is handled at once."""
    return [
        Call(due=due, message=message, at=due.due_at if due.due_at <= now + WAIT_MAX else now)
        for message in messages
        for due in message.packet.dues
    ]


def in_turn(calls: Iterable[Call]) -> list[Call]:
    """Orders calls by their instants. At one instant tenants take turns, so a tenant with many calls keeps no other
    tenant waiting."""
    turns: Counter[tuple[datetime, str]] = Counter()
    ordered = []
    for call in calls:
        whose = call.at, call.message.packet.tenant
        ordered.append((call.at, turns[whose], call))
        turns[whose] += 1
    return [call for _, _, call in sorted(ordered, key=lambda each: each[:2])]


def take_due(agenda: deque[Call], now: datetime, *, most: int | None = None) -> list[Call]:
    """The calls whose instant has come, each item once: a second call is decided from what the first left."""
    taken: dict[str, Call] = {}
    again: list[Call] = []
    while agenda and agenda[0].at <= now and (most is None or len(taken) < most):
        call = agenda.popleft()
        if taken.setdefault(call.due.id, call) is not call:
            again.append(call)
    agenda.extendleft(reversed(again))
    return list(taken.values())
