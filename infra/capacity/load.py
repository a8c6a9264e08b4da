"""The loads that the model runs: a peak of tasks at one instant, and a steady stream of payments."""

from dataclasses import dataclass
from typing import Final

from postdate.domain.due import PACKET_ITEMS_MAX

# The sweep sends this many tasks of a tenant and second ahead of their instant, as `functions/sweep` does.
AHEAD_MAX: Final = 250
# The golden ratio spreads instants evenly over a second without drawing any.
_GOLDEN: Final = 0.618033988749895


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A packet in a queue. Instants are in seconds; `items` are due together."""

    visible_at: float
    due_at: float
    items: int


def peak(due: int, *, tenants: int) -> list[Message]:
    """`due` tasks at the instant 0, shared evenly by `tenants`. A packet has tasks of one tenant. A tenant's first
    packets are visible one to two seconds ahead, the packets beyond AHEAD_MAX in the second after the instant."""
    each, more = divmod(due, tenants)
    messages = []
    number = 0
    for tenant in range(min(tenants, due)):
        left = each + (tenant < more)
        sent = 0
        while left:
            items = min(left, PACKET_ITEMS_MAX)
            part = number * _GOLDEN % 1
            ahead = sent + items <= AHEAD_MAX
            messages.append(Message(visible_at=part - 2 if ahead else part, due_at=0.0, items=items))
            number, sent, left = number + 1, sent + items, left - items
    return sorted(messages, key=lambda message: message.visible_at)


def steady(rate: float, seconds: float) -> list[Message]:
    """Items of `rate` a second with instants of their own, one a packet, visible one to two seconds ahead."""
    instants = (number / rate for number in range(round(rate * seconds)))
    messages = [
        Message(visible_at=due_at - 1 - number * _GOLDEN % 1, due_at=due_at, items=1)
        for number, due_at in enumerate(instants)
    ]
    return sorted(messages, key=lambda message: message.visible_at)
