"""A discrete-event simulation of one queue, its mapping, its workers and their table.

The event source mapping gives each free worker the visible messages, up to a batch. The worker commits all items of
its batch that are due, together, and waits for the instants of the others. All workers share the write units of the
table and of its partitions, in the order of their commits. An item that finds no unit within the worker's patience is
throttled: its call returns to the queue, as `run_tasks` sends it, and is taken again.
"""

import heapq
from collections.abc import Sequence
from itertools import count
from math import ceil, inf
from random import Random
from typing import Any, Final

from infra.capacity.load import Item, Message
from infra.capacity.parts import Fleet, Outcome, Reached, Store, Work

# Waits below this many seconds after the instant do not count as a limit that was reached.
_NOTICED: Final = 0.05


class _Run:
    """The state of one run. An event is (instant, number, worker, items, what): `what` is the method to call.
    `_idle` are free workers that found no message; `_gathering` collect messages of a window."""

    def __init__(self, messages: Sequence[Message], fleet: Fleet, work: Work, store: Store) -> None:
        self._messages, self._fleet, self._work, self._store = messages, fleet, work, store
        self._started = messages[0][0]
        self._taken = 0
        self._again: list[tuple[float, int, Sequence[Item]]] = []
        self._events: list[tuple[float, int, int, Any, Any]] = []
        self._numbers = count()
        self._draws = Random(0)  # noqa: S311
        self._cold = set(range(fleet.warm, fleet.most))
        for worker in range(fleet.most):
            begins = max(0.0, (worker + 1 - fleet.first) / fleet.added) if fleet.added else 0.0
            if worker < fleet.first or fleet.added:
                self._at(self._started + begins, worker, None, self._join)
        self._idle: list[int] = []
        self._gathering: dict[int, list[Sequence[Item]]] = {}
        self._table = self._started
        self._partitions = [self._started] * store.partitions
        self._receives = self._invokes = self._started
        self._starts = fleet.starts_at_once
        self._starts_at = self._started
        self._busy: dict[int, tuple[float, int]] = {}
        self._flying = 0
        self._reached: dict[str, Reached] = {}
        self._lateness: list[float] = []
        self._at_once = self._throttled = self._invocations = self._requests = 0
        self._busy_seconds = 0.0
        self._ended = self._started

    def outcome(self) -> Outcome:
        while self._taken < len(self._messages) or self._again or self._busy or self._gathering:
            arrives = self._next_arrival()
            upcoming = self._events[0][0] if self._events else inf
            if arrives <= upcoming and (self._idle or self._gathering) and self._arrive(arrives):
                continue
            if not self._events:
                raise RuntimeError("nobody takes the messages that are left")
            now, _, worker, items, what = heapq.heappop(self._events)
            what(worker, now, items)
        return Outcome(
            lateness=self._lateness,
            throttled=self._throttled,
            busy_seconds=self._busy_seconds,
            invocations=self._invocations,
            requests=self._requests + ceil(len(self._messages) / 10),
            at_once=self._at_once,
            ended_at=self._ended,
            reached=self._reached,
        )

    def _next_arrival(self) -> float:
        first = self._messages[self._taken][0] if self._taken < len(self._messages) else inf
        return min(first, self._again[0][0]) if self._again else first

    def _take(self) -> Sequence[Item]:
        first = self._messages[self._taken][0] if self._taken < len(self._messages) else inf
        if self._again and self._again[0][0] < first:
            return heapq.heappop(self._again)[2]
        self._taken += 1
        return self._messages[self._taken - 1][1]

    def _arrive(self, now: float) -> bool:
        """Gives the next message to an idle worker, or to one that gathers. False if all places are taken."""
        if self._flying >= self._fleet.in_flight:
            return False
        if not self._fleet.window:
            self._begin(self._idle.pop(), now)
            return True
        if self._idle and len(self._gathering) < self._fleet.first:
            worker = self._idle.pop()
            self._gathering[worker] = []
            self._at(now + self._fleet.window, worker, None, self._gathered)
        if not self._gathering:
            return False
        worker = next(iter(self._gathering))
        gathered = self._gathering.pop(worker)
        gathered.append(self._take())
        if len(gathered) < self._fleet.batch:
            self._gathering[worker] = gathered  # the next message goes to the next one that gathers
        else:
            self._start(worker, gathered, now)
        return True

    def _gathered(self, worker: int, now: float, _: Any) -> None:
        if worker not in self._gathering:
            return
        if gathered := self._gathering.pop(worker):
            self._start(worker, gathered, now)
        else:
            self._free(worker, now)

    def _joined(self, now: float) -> float:
        """The workers that the mapping has at this instant."""
        fleet = self._fleet
        return min(fleet.most, fleet.first + fleet.added * max(0.0, now - self._started))

    def _join(self, worker: int, now: float, _: Any) -> None:
        self._free(worker, now)

    def _free(self, worker: int, now: float) -> None:
        arrives = self._next_arrival()
        if arrives > now or self._flying >= self._fleet.in_flight:
            if arrives <= now:
                self._note("in_flight", now, 0.0, 1)
            self._idle.append(worker)
            return
        self._begin(worker, now)

    def _begin(self, worker: int, now: float) -> None:
        """The worker takes the visible messages, up to a batch."""
        batch: list[Sequence[Item]] = []
        visible_at = self._next_arrival()
        while len(batch) < self._fleet.batch and self._next_arrival() <= now:
            batch.append(self._take())
        wanted_at = max(batch[0][0][0], visible_at)
        name = "workers" if self._joined(wanted_at) >= self._fleet.most else "start of the mapping"
        self._note(name, now, now - wanted_at, sum(map(len, batch)))
        self._start(worker, batch, now)

    def _start(self, worker: int, batch: list[Sequence[Item]], now: float) -> None:
        fleet, items = self._fleet, sorted(item for message in batch for item in message)
        polls = ceil(len(batch) / 10)
        start = now
        if fleet.receives < inf:
            self._receives = max(self._receives, now) + polls / (fleet.receives * self._joined(now))
            start = self._receives
            self._note("receives of pollers", start, start - max(now, items[0][0]), len(items))
        invoked = max(self._invokes, start)
        self._note("invocations", invoked, invoked - max(start, items[0][0]), len(items))
        self._invokes = invoked + 1 / fleet.invocations
        ready = invoked
        if worker in self._cold:
            self._cold.discard(worker)
            ready = self._new_environment(invoked, items) + self._work.cold_start
        self._busy[worker] = (invoked, len(batch))
        self._flying += len(batch)
        self._at_once = max(self._at_once, len(self._busy))
        self._invocations += 1
        self._requests += 3 * polls  # receive, hide for the lease, delete
        self._at(max(ready + self._work.a_batch, items[0][0]), worker, (items, 0, len(batch)), self._ready)

    def _new_environment(self, now: float, items: Sequence[Item]) -> float:
        fleet = self._fleet
        if fleet.starts_added == inf:
            return now
        begins = max(now, self._starts_at)
        have = min(fleet.starts_at_once, self._starts + (begins - self._starts_at) * fleet.starts_added)
        if have < 1:
            begins += (1 - have) / fleet.starts_added
            have = 1.0
        self._note("new environments", begins, begins - max(now, items[0][0]), len(items))
        self._starts, self._starts_at = have - 1, begins
        return begins

    def _ready(self, worker: int, now: float, batch: tuple[list[Item], int, int]) -> None:
        """The worker begins with all items that are due."""
        items, first, messages = batch
        last = first + 1
        while last < len(items) and items[last][0] <= now:
            last += 1
        work = (last - first) * self._work.an_item
        self._at(now + work, worker, (items, first, last, messages), self._commit)

    def _commit(self, worker: int, now: float, batch: tuple[list[Item], int, int, int]) -> None:
        items, first, last, messages = batch
        work, store = self._work, self._store
        done, refused = now, []
        for item in items[first:last]:
            due_at, partition = item
            table, own = max(self._table, now), max(self._partitions[partition], now)
            waits = max(table, own) - now
            if waits > 0:
                name = "partition writes" if own > table else "table writes"
                self._note(name, now, waits, 1)
            if waits > work.patience:
                refused.append(item)
                continue
            self._table = table + work.units / store.writes
            self._partitions[partition] = own + work.units / store.partition
            at = max(self._table, self._partitions[partition])
            done = max(done, at)
            self._lateness.append(at + work.a_commit - due_at)
        done += work.patience if refused and done == now else 0.0
        done += work.a_commit
        self._put_off(refused, ceil(len(items) / messages), done)
        if last < len(items):
            self._at(max(done, items[last][0]), worker, (items, last, messages), self._ready)
        else:
            self._at(done, worker, None, self._end)

    def _put_off(self, refused: Sequence[Item], together: int, now: float) -> None:
        self._throttled += len(refused)
        for first in range(0, len(refused), together):
            items = refused[first : first + together]
            pause = ceil(self._work.put_off(now - items[-1][0], self._draws.random()))
            heapq.heappush(self._again, (now + pause, next(self._numbers), items))
        self._requests += ceil(len(refused) / together / 10)

    def _end(self, worker: int, now: float, _: Any) -> None:
        began, messages = self._busy.pop(worker)
        self._flying -= messages
        self._busy_seconds += now - began
        self._ended = max(self._ended, now)
        self._free(worker, now)

    def _note(self, name: str, now: float, waited: float, items: int) -> None:
        if waited > _NOTICED:
            reached = self._reached.setdefault(name, Reached(first_at=now))
            reached.item_seconds += waited * items

    def _at(self, instant: float, worker: int, items: Any, what: Any) -> None:
        heapq.heappush(self._events, (instant, next(self._numbers), worker, items, what))


def run(messages: Sequence[Message], *, fleet: Fleet, work: Work, store: Store) -> Outcome:
    """`messages` are in the order in which they become visible."""
    return _Run(messages, fleet, work, store).outcome()
