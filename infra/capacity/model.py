"""A discrete-event simulation of one queue, its workers and their table.

The event source mapping gives each free worker the visible messages, up to a batch. The worker waits for the instants
of its batch, and then works. All workers share the write units of the table, in the order of their requests: a request
that finds none waits, which on AWS is a throttled request and its repeats.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count
from math import inf

from infra.capacity import limits
from infra.capacity.load import Message


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """The times of a worker in seconds: a cold start, a batch without its items, and an item. `units` are the write
    units of an item on the fullest table."""

    cold_start: float
    a_batch: float
    an_item: float
    units: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Fleet:
    """The workers of one mapping: `first` at once, `added` more a second, up to `most`. `warm` have started before."""

    first: float
    added: float
    most: int
    batch: int = int(limits.BATCH_MAX.value)
    warm: int = 0

    def begins(self) -> Iterator[float]:
        """The instants after the first message at which the workers may begin."""
        for number in range(self.most):
            yield max(0.0, (number + 1 - self.first) / self.added)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`lateness` has one entry for each batch of items, as (seconds, items)."""

    lateness: list[tuple[float, int]]
    throttled: int
    busy_seconds: float
    invocations: int
    at_once: int
    ended_at: float

    @property
    def items(self) -> int:
        return sum(items for _, items in self.lateness)

    @cached_property
    def _sorted(self) -> tuple[list[float], list[int]]:
        ordered = sorted(self.lateness)
        return [seconds for seconds, _ in ordered], list(accumulate(items for _, items in ordered))

    def percentile(self, share: float) -> float:
        seconds, counts = self._sorted
        wanted = share * counts[-1]
        return next(late for late, count in zip(seconds, counts, strict=True) if count >= wanted)


class _Run:
    """The state of one run. `_events` are (instant, number, worker, batch): a worker joins or is free if it has no
    batch, and asks for write units if it has one. `_idle` are free workers that found no message."""

    def __init__(self, messages: Sequence[Message], fleet: Fleet, work: Work, writes: float) -> None:
        self._messages, self._fleet, self._work, self._writes = messages, fleet, work, writes
        self._taken = 0
        self._started = messages[0].visible_at
        self._cold = set(range(fleet.warm, fleet.most))
        self._events: list[tuple[float, int, int, Sequence[Message]]] = []
        self._numbers = count()
        for worker, begin in enumerate(fleet.begins()):
            self._at(self._started + begin, worker, ())
        self._idle: list[int] = []
        self._table_free_at = self._started
        self._busy: dict[int, float] = {}
        self._at_once, self._throttled, self._busy_seconds, self._invocations = 0, 0, 0.0, 0
        self._lateness: list[tuple[float, int]] = []

    def outcome(self) -> Outcome:
        ended_at = self._started
        while self._taken < len(self._messages) or self._busy:
            arrives_at = self._next_arrival()
            if self._idle and (not self._events or arrives_at <= self._events[0][0]):
                self._begin(self._idle.pop(), arrives_at)
                continue
            now, _, worker, batch = heapq.heappop(self._events)
            if batch:
                ended_at = max(ended_at, self._write(worker, batch, now))
                continue
            if worker in self._busy:
                self._busy_seconds += now - self._busy.pop(worker)
            if self._next_arrival() <= now:
                self._begin(worker, now)
            else:
                self._idle.append(worker)
        return Outcome(
            lateness=self._lateness,
            throttled=self._throttled,
            busy_seconds=self._busy_seconds,
            invocations=self._invocations,
            at_once=self._at_once,
            ended_at=ended_at,
        )

    def _next_arrival(self) -> float:
        return self._messages[self._taken].visible_at if self._taken < len(self._messages) else inf

    def _begin(self, worker: int, now: float) -> None:
        """The worker takes the visible messages, waits for their instants and does its own work."""
        last = min(self._taken + self._fleet.batch, len(self._messages))
        first, self._taken = self._taken, self._taken + 1
        while self._taken < last and self._messages[self._taken].visible_at <= now:
            self._taken += 1
        batch = self._messages[first : self._taken]
        start = self._work.cold_start if worker in self._cold else 0.0
        self._cold.discard(worker)
        ready_at = max(now + start + self._work.a_batch / 2, *(message.due_at for message in batch))
        self._at(ready_at + _items(batch) * self._work.an_item, worker, batch)
        self._busy[worker] = now
        self._at_once = max(self._at_once, len(self._busy))
        self._invocations += 1

    def _write(self, worker: int, batch: Sequence[Message], now: float) -> float:
        items = _items(batch)
        waits = max(0.0, self._table_free_at - now)
        self._table_free_at = now + waits + items * self._work.units / self._writes
        self._throttled += items if waits > self._work.a_batch else 0
        done_at = self._table_free_at + self._work.a_batch / 2
        self._lateness += [(done_at - message.due_at, message.items) for message in batch]
        self._at(done_at, worker, ())
        return done_at

    def _at(self, instant: float, worker: int, batch: Sequence[Message]) -> None:
        heapq.heappush(self._events, (instant, next(self._numbers), worker, batch))


def run(messages: Sequence[Message], *, fleet: Fleet, work: Work, writes: float) -> Outcome:
    """`messages` are in the order in which they become visible; `writes` are the table's units a second."""
    return _Run(messages, fleet, work, writes).outcome()


def _items(batch: Sequence[Message]) -> int:
    return sum(message.items for message in batch)
