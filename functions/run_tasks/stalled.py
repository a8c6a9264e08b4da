"""Calls that are due and wait because their tenant's deliveries use up its share of the worker, or all deliveries the
worker.

They wait for as long as deliveries of their tenant end. A second after the last one they run out of patience and are
sent on: later another worker, or this one, has capacity.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime

from functions.run_tasks.in_flight import InFlight
from postdate.runtime.agenda import Call


class Stalled:
    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._since: list[tuple[datetime, Call]] = []

    @property
    def calls(self) -> list[Call]:
        return [call for _, call in self._since]

    @property
    def patience_ends(self) -> datetime | None:
        """The instant at which the first waiting call is sent on; None if no call waits."""
        return min((self._until(since, call) for since, call in self._since), default=None)

    def with_capacity(self, calls: Iterable[Call], now: datetime) -> list[Call]:
        """Calls that may begin now; the others wait here."""
        begun: list[Call] = []
        beginning: Counter[str] = Counter()
        for call in calls:
            tenant = call.message.packet.tenant
            if (
                beginning[tenant] < self._in_flight.free(tenant)
                and beginning.total() < self._in_flight.free_in_all
            ):
                beginning[tenant] += 1
                begun.append(call)
            else:
                self._since.append((now, call))
        return begun

    def wake(self) -> list[Call]:
        """Calls whose tenant has capacity again. They wait here no more."""
        return self._leave(lambda since, call: self._in_flight.free(call.message.packet.tenant) > 0)

    def out_of_patience(self, now: datetime) -> list[Call]:
        """Calls to send on now. They wait here no more."""
        return self._leave(lambda since, call: self._until(since, call) <= now)

    def _until(self, since: datetime, call: Call) -> datetime:
        return self._in_flight.patience_ends(call.message.packet.tenant, since)

    def _leave(self, leaves: Callable[[datetime, Call], bool]) -> list[Call]:
        waiting, self._since = self._since, []
        left = []
        for since, call in waiting:
            if leaves(since, call):
                left.append(call)
            else:
                self._since.append((since, call))
        return left
