"""The deliveries that one worker has in flight: how many at once, and how many of one tenant.

A hanging delivery uses up capacity of the worker and delays nothing else. A due call waits while its tenant's share, or
the whole worker, is full. It waits as long as deliveries of its tenant keep ending. If none has ended for one second,
the call is sent on; another worker, or this one later, takes it.

A destination is slow when a fourth of what this worker has begun there was on its way for two seconds. One slow answer
among many quick ones does not make it slow.
"""

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import limits
from postdate.domain.breaker import SLOW_AFTER
from postdate.runtime.agenda import Call
from postdate.stores.flow import Circuit

# The deliveries that one worker has in flight at once.
IN_FLIGHT_MAX: Final = 250
# The time without an ended delivery of the tenant after which a waiting call is sent on.
PATIENCE: Final = timedelta(seconds=1)
SLOW_SHARE: Final = 4


class InFlight:
    """`share` is the number of deliveries of a tenant that this worker may have in flight."""

    def __init__(self, share: Callable[[str], int] = lambda tenant: limits.IN_FLIGHT_A_WORKER) -> None:
        self._share = share
        # In the order of their starts, with tenant and start.
        self._began: OrderedDict[Hashable, tuple[str, datetime]] = OrderedDict()
        self._of_tenant: Counter[str] = Counter()
        self._ended: dict[str, datetime] = {}
        # Deliveries that may still turn out to be long, the oldest first.
        self._watched: deque[tuple[datetime, Hashable, Circuit]] = deque()
        # The deliveries that began, and those that were long, by destination.
        self._begun_there: Counter[Circuit] = Counter()
        self._slow_there: Counter[Circuit] = Counter()

    @property
    def count(self) -> int:
        return len(self._began)

    @property
    def free_in_all(self) -> int:
        return IN_FLIGHT_MAX - self.count

    @property
    def oldest(self) -> datetime | None:
        """The start of the delivery that has been in flight for longest."""
        return next((began for _, began in self._began.values()), None)

    @property
    def looks_at(self) -> datetime | None:
        """The instant at which the next delivery counts as long."""
        while self._watched and self._watched[0][1] not in self._began:
            self._watched.popleft()
        return self._watched[0][0] + SLOW_AFTER if self._watched else None

    def free(self, tenant: str) -> int:
        return max(0, min(self.free_in_all, self._share(tenant) - self._of_tenant[tenant]))

    def begin(self, delivery: Hashable, circuit: Circuit, now: datetime) -> None:
        tenant, _ = circuit
        self._began[delivery] = tenant, now
        self._of_tenant[tenant] += 1
        self._begun_there[circuit] += 1
        self._watched.append((now, delivery, circuit))

    def end(self, delivery: Hashable, now: datetime) -> None:
        tenant, _ = self._began.pop(delivery)
        self._of_tenant[tenant] -= 1
        self._ended[tenant] = now

    def slow(self, now: datetime) -> set[Circuit]:
        """Destinations that have turned out to be slow since this was asked last."""
        found = set()
        while (looks_at := self.looks_at) is not None and looks_at <= now:
            _, _, circuit = self._watched.popleft()
            self._slow_there[circuit] += 1
            if self._slow_there[circuit] * SLOW_SHARE >= self._begun_there[circuit]:
                found.add(circuit)
        return found

    def patience_ends(self, tenant: str, since: datetime) -> datetime:
        """The instant until which a call of this tenant, waiting since `since`, waits for the tenant's share."""
        return max(since, self._ended.get(tenant, since)) + PATIENCE


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
        free: dict[str, int] = {}
        for call in calls:
            tenant = call.message.packet.tenant
            if tenant not in free:
                free[tenant] = self._in_flight.free(tenant)
            if beginning[tenant] < free[tenant] and beginning.total() < self._in_flight.free_in_all:
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
