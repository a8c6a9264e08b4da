"""The loads that the model runs: a minute with tasks of many tenants, and a steady stream of payments.

A message is a packet in a queue: the instant at which it becomes visible, and its items. An item is the instant at
which it is due and the partition that holds its row.
"""

from collections import defaultdict
from collections.abc import Sequence
from hashlib import sha256
from random import Random
from typing import Final

from postdate.domain.due import AHEAD, PACKET_ITEMS_MAX

Item = tuple[float, int]
Message = tuple[float, Sequence[Item]]

# The sweep sends this many tasks of a tenant, second and group ahead of their instant, as `functions/sweep` does.
AHEAD_MAX: Final = 250
# The golden ratio spreads instants evenly over a second without drawing any.
_GOLDEN: Final = 0.618033988749895
_MINUTES: Final = 20


def placed(shards: int, partitions: int) -> list[int]:
    """The partition of each shard. Keys reach partitions by their hashes, so some partitions get more shards than
    others, and each minute has another draw. This is the least even draw of 20 minutes."""
    draws = [
        [
            int.from_bytes(sha256(f"{minute}#{shard:02d}".encode()).digest()[:4]) % partitions
            for shard in range(shards)
        ]
        for minute in range(_MINUTES)
    ]
    return max(draws, key=lambda drawn: max(map(drawn.count, set(drawn))))


def minute(
    due: int,
    *,
    tenants: int,
    over: float,
    partitions: Sequence[int],
    group: int,
    largest: float = 0.0,
) -> list[Message]:
    """`due` tasks whose instants are spread evenly over so many seconds from 0 on; all are due at 0 if `over` is 0.

    The largest tenant owns the share `largest`, and the others own the rest evenly. A packet has tasks of one tenant,
    one second and one group of shards. It is visible one to two seconds ahead; packets beyond AHEAD_MAX in the second
    after their instant.
    """
    random = Random(0)  # noqa: S311
    shards = random.choices(range(len(partitions)), k=due)
    packets: dict[tuple[int, int, int], list[Item]] = defaultdict(list)
    own = round(due * largest)
    for number in range(due):
        at = over * (number * _GOLDEN % 1)
        shard = shards[number]
        tenant = 0 if number < own else 1 + number % tenants
        packets[(int(at), shard // group, tenant)].append((at, partitions[shard]))
    ahead = AHEAD.total_seconds()
    planned: list[Message] = []
    for number, items in enumerate(packets.values()):
        items.sort()
        part = number * _GOLDEN % 1
        for first in range(0, len(items), PACKET_ITEMS_MAX):
            chunk = items[first : first + PACKET_ITEMS_MAX]
            flood = first + len(chunk) > AHEAD_MAX
            planned.append((chunk[0][0] + (part if flood else -ahead - part), chunk))
    planned.sort()
    return planned


def steady(rate: float, seconds: float, *, partitions: int) -> list[Message]:
    """Items of `rate` a second with instants of their own, one a packet, visible one to two seconds ahead."""
    random = Random(0)  # noqa: S311
    return sorted(
        (
            number / rate - 1 - number * _GOLDEN % 1,
            ((number / rate, random.randrange(partitions)),),
        )
        for number in range(round(rate * seconds))
    )
