"""A slot is one shard of one minute: where an item lives and what a sweep reads at once.

An item's id carries the slot it was registered in, its home, so that a reader with an id needs no index:

    task_ 0w8qk4r0 3m9c...     5 bytes of minute and shard (sorted by time), then 10 bytes of its own
"""

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from postdate.domain import base32, instants
from postdate.domain.errors import NotFound

UNIQUE_BYTES = 10
_HOMES_KEPT = 1024
# An id begins with 30 bits of minute and 10 bits of shard, which are 8 characters.
_SHARD_BITS = 10
_SHARDS_MAX = 1 << _SHARD_BITS
_PREFIX_CHARACTERS = 8
_UNIQUE_CHARACTERS = 16


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Slot:
    # The minute, counted from 1970.
    minute: int
    # The number of the shard within the minute.
    shard: int

    @property
    def key(self) -> str:
        return f"{instants.start_of(self.minute):%Y-%m-%dT%H:%M}#{self.shard:02d}"

    def holds(self, instant: datetime) -> bool:
        return instants.minute_of(instant) == self.minute


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardPlan:
    """The number of shards of a minute. A change takes effect from a future minute on, so stored items are still
    found."""

    # The first minutes of the steps, in order; the first step begins with 0.
    from_minutes: tuple[int, ...]
    # The number of shards from each of these minutes on.
    counts: tuple[int, ...]

    @classmethod
    def parse(cls, text: str) -> "ShardPlan":
        """Reads `<first minute>=<shards>`, comma-separated: `0=4,29900000=8`."""
        steps = sorted(
            (int(minute), int(count)) for minute, count in (step.split("=") for step in text.split(","))
        )
        if steps[0][0] != 0 or not all(1 <= count <= _SHARDS_MAX for _, count in steps):
            raise ValueError(f"a shard plan starts at minute 0 and has 1 to {_SHARDS_MAX} shards: {text}")
        return cls(from_minutes=tuple(step[0] for step in steps), counts=tuple(step[1] for step in steps))

    def count(self, minute: int) -> int:
        """The number of shards of this minute."""
        return self.counts[bisect_right(self.from_minutes, minute) - 1]

    def slot(self, due_at: datetime, unique: bytes) -> Slot:
        """The slot for an instant; the shard follows from what is unique in the item's id."""
        minute = instants.minute_of(due_at)
        return Slot(
            minute=minute, shard=int.from_bytes(hashlib.sha256(unique).digest()[:4]) % self.count(minute)
        )

    def item_id(self, kind: str, due_at: datetime, unique: bytes) -> str:
        """The id of a new item whose home is the slot for this instant."""
        return item_id(kind, self.slot(due_at, unique), unique)


def item_id(kind: str, slot: Slot, unique: bytes) -> str:
    # The characters of the slot and those of the unique part meet at a border of whole characters: 10 bytes are 16.
    number = (slot.minute << _SHARD_BITS | slot.shard) << 8 * UNIQUE_BYTES | int.from_bytes(unique)
    return f"{kind}_{base32.encode(number, _PREFIX_CHARACTERS + _UNIQUE_CHARACTERS)}"


def first_of(minute: int) -> str:
    """The characters behind the kind with which the ids of this minute begin: those of earlier minutes sort before."""
    return base32.encode(minute << _SHARD_BITS, _PREFIX_CHARACTERS)


def is_id(item: object) -> bool:
    """True for a text in the form of an id. Only the table knows whether the item exists."""
    body = item.rpartition("_")[2] if isinstance(item, str) else ""
    return len(body) == _PREFIX_CHARACTERS + _UNIQUE_CHARACTERS and base32.CHARACTERS.issuperset(body)


@lru_cache(maxsize=_HOMES_KEPT)
def home(item: str) -> Slot:
    """The slot that an item was registered in. Stores and rows ask for one item's several times."""
    number = base32.decode(_body(item)[:_PREFIX_CHARACTERS])
    return Slot(minute=number >> _SHARD_BITS, shard=number & (_SHARDS_MAX - 1))


def unique_part(item: str) -> bytes:
    return base32.decode(_body(item)[_PREFIX_CHARACTERS:]).to_bytes(UNIQUE_BYTES)


def _body(item: str) -> str:
    if not is_id(item):
        raise NotFound(f"{item[:64]!r} is not an id of Postdate")
    return item.rpartition("_")[2]
