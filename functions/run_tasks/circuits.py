"""The breakers of destinations, as one worker knows them: read once a second at most, written only when they change.

A worker looks at the breakers when a batch arrives. It looks again at the instant of a call only if that is more than
some seconds later.

`Circuits` outlives the batches of its worker. If the table cannot be read or written, calls go out as if all breakers
were closed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import groupby
from typing import Final

from postdate.domain import breaker as rules
from postdate.domain.breaker import Breaker, State
from postdate.domain.due import WAIT_MAX
from postdate.domain.errors import Unavailable
from postdate.domain.task import Destination
from postdate.runtime import metric
from postdate.runtime.clock import Clock
from postdate.runtime.observability import emit, logger
from postdate.stores.flow import Circuit, Flow, Timeline
from postdate.targets.base import Delivery, Failed, Receipt
from postdate.targets.registry import circuit_of

_FRESH: Final = timedelta(seconds=1)
_KEPT: Final = WAIT_MAX + _FRESH
_PROBE_MARGIN: Final = timedelta(seconds=5)
# On the timeline of starts an instant is a number: one call is one of these.
_ONE: Final = timedelta(milliseconds=1)
_TRIES: Final = 4
_REMEMBERED_MAX: Final = 10_000
# A call asks five times for its circuit.
_CIRCUITS_KEPT: Final = 1024


@lru_cache(maxsize=_CIRCUITS_KEPT)
def circuit(tenant: str, destination: Destination) -> Circuit:
    """A tenant's calls to one host, or to one queue: another tenant's trouble there does not count."""
    return tenant, circuit_of(destination)


class Circuits:
    def __init__(self, *, flow: Flow, clock: Clock) -> None:
        self._flow = flow
        self._clock = clock
        # Each breaker with the instant of its reading, and True if other workers are unlikely to change it this second.
        self._known: dict[Circuit, tuple[datetime, Breaker, bool]] = {}
        # The end of each probe that calls waited for, and the instant until which they wait.
        self._patience: dict[Circuit, tuple[datetime | None, datetime]] = {}

    def foresee(self, circuits: Iterable[Circuit]) -> frozenset[Circuit]:
        """Reads ahead of the instant the breakers that will be asked for then. Returns the circuits whose calls use the
        lane for slow destinations. Calls to a destination whose breaker is open stay in their lane: they wait for its
        probe."""
        wanted = set(circuits)
        now = self._know(wanted, _FRESH)
        known = [(each, self._known[each][1]) for each in wanted]
        return frozenset(each for each, breaker in known if breaker.is_slow(now) and not breaker.open_until)

    def breakers(self, circuits: Iterable[Circuit]) -> Mapping[Circuit, Breaker]:
        wanted = set(circuits)
        self._know(wanted, _KEPT)
        return {each: self._known[each][1] for each in wanted}

    def breaker(self, circuit: Circuit) -> Breaker:
        return self.breakers([circuit])[circuit]

    def tell(self, heard: Iterable[tuple[Delivery, Receipt]]) -> None:
        """Tells the breakers the outcomes of deliveries, in the order in which they ended."""
        outcomes = [(circuit(delivery.tenant, delivery.destination), receipt) for delivery, receipt in heard]
        for each, group in groupby(sorted(outcomes, key=lambda pair: pair[0]), key=lambda pair: pair[0]):
            self._tell(each, [receipt for _, receipt in group])

    def probe(self, circuit: Circuit, timeout_seconds: float) -> bool:
        """Takes the probe of a half-open breaker. True if this worker may call: it has the probe, or the breaker is
        closed by now."""
        before = self.breaker(circuit)
        now = self._clock.now()
        after = rules.probe(before, now=now, until=now + timedelta(seconds=timeout_seconds) + _PROBE_MARGIN)
        if after is None:
            return before.state(now) is State.CLOSED
        try:
            if self._flow.change_breaker(circuit, before, after):
                self._keep(circuit, after)
                return True
        except Unavailable:
            return False
        self._read([circuit])
        return False

    def give_back(self, circuit: Circuit, probe_until: datetime | None) -> None:
        """Gives back a probe that was not sent: nothing will be heard of it."""
        self._change(circuit, lambda before, now: rules.given_back(before, probe_until))

    def patience_ends(self, circuit: Circuit) -> datetime:
        """The instant until which calls wait at this worker for the probe that is under way. One such wait is granted
        for each probe, however many batches bring calls for it: a worker that waits serves no other destination."""
        probe = self.breaker(circuit).probe_until
        known = self._patience.get(circuit)
        if known is None or known[0] != probe:
            known = self._patience[circuit] = probe, self._clock.now() + WAIT_MAX
        return known[1]

    def slowed(self, circuit: Circuit) -> None:
        """A worker has waited long for it."""
        self._change(circuit, lambda before, now: rules.slowed(before, now=now))

    def turns(self, circuit: Circuit, count: int) -> list[datetime]:
        """Returns the instants at which `count` refused calls ask again."""
        breaker, now = self.breaker(circuit), self._clock.now()
        begin = self._take_turns(Timeline.TURNS, circuit, count * rules.TURN, breaker.asks_again_from(now))
        return rules.turns(breaker, begin, count, now=now)

    def count_behind_breaker(self, circuit: Circuit, more: int) -> None:
        """A count that is lost makes the number that a person is shown too small, and nothing else."""
        with suppress(Unavailable):
            self._flow.count_behind_breaker(circuit, more)

    def starts(self, circuit: Circuit, count: int) -> list[datetime]:
        """Returns the instants at which `count` calls to a recovering destination may begin."""
        breaker, now = self.breaker(circuit), self._clock.now()
        zero = breaker.closed_at or now
        begin = self._take_turns(
            Timeline.STARTS, circuit, count * _ONE, zero + rules.begun(breaker, now) * _ONE
        )
        first = (begin - zero) // _ONE
        return rules.starts(breaker, range(first, first + count))

    def _take_turns(self, of: Timeline, circuit: Circuit, width: timedelta, begin: datetime) -> datetime:
        try:
            return self._flow.take(*circuit, width, now=begin, of=of)
        except Unavailable:
            return begin

    def _tell(self, circuit: Circuit, receipts: list[Receipt]) -> None:
        failures, error = 0, None
        # Only failures behind the last answer count: they are the ones in a row.
        for receipt in reversed(receipts):
            if not isinstance(receipt, Failed) or not receipt.down:
                break
            failures, error = failures + 1, error or receipt.reason

        def changed(before: Breaker, now: datetime) -> Breaker:
            # An answer among the outcomes ended the row of failures before it.
            alive = rules.answered(before, now=now) if failures < len(receipts) else before
            return rules.failed(alive, failures, now=now, error=error) if failures else alive

        self._change(circuit, changed)

    def _change(self, circuit: Circuit, changed: Callable[[Breaker, datetime], Breaker]) -> None:
        """Writes the changed breaker, decided again if another worker changed it first. If the table does not answer,
        the change is lost."""
        before = self.breaker(circuit)
        for _ in range(_TRIES):
            after = changed(before, self._clock.now())
            if after == before:
                return
            try:
                if self._flow.change_breaker(circuit, before, after):
                    self._keep(circuit, after)
                    _log_change(circuit, before, after)
                    return
            except Unavailable:
                return
            self._read([circuit])
            before = self.breaker(circuit)

    def _know(self, circuits: Iterable[Circuit], kept: timedelta) -> datetime:
        """Reads breakers whose copy is too old, and returns the instant at which the copies were looked at."""
        if len(self._known) > _REMEMBERED_MAX:
            self._known.clear()
            self._patience.clear()
        now = self._clock.now()
        if stale := [each for each in set(circuits) if not self._is_fresh(each, kept, now)]:
            self._read(stale)
        return now

    def _is_fresh(self, circuit: Circuit, kept: timedelta, now: datetime) -> bool:
        """True while the copy of the breaker may be used: for `kept`, or for a second if others may change it soon."""
        if circuit not in self._known:
            return False
        read_at, _, is_calm = self._known[circuit]
        return now < read_at + (kept if is_calm else _FRESH)

    def _read(self, circuits: Sequence[Circuit]) -> None:
        try:
            found = self._flow.breakers(circuits)
        # A table that does not answer must not stop calls to destinations that may be well.
        except Unavailable:
            found = dict.fromkeys(circuits, Breaker())
        for each, breaker in found.items():
            self._keep(each, breaker)

    def _keep(self, circuit: Circuit, breaker: Breaker) -> None:
        now = self._clock.now()
        self._known[circuit] = (now, breaker, breaker.is_calm(now))


def _log_change(circuit: Circuit, before: Breaker, after: Breaker) -> None:
    """Logs the opening or closing of a breaker, or a destination that became slow. Other changes are not logged."""
    if after.opened > before.opened:
        emit(metric.BREAKERS_OPENED)
        logger.warning(
            "a circuit breaker opened",
            extra={
                "action": "breaker_opened",
                "tenant": circuit[0],
                "destination": circuit[1],
                "until": str(after.open_until),
            },
        )
    elif after.slow_until != before.slow_until:
        emit(metric.DESTINATIONS_SLOW)
        logger.info(
            "a destination is slow",
            extra={
                "action": "destination_slow",
                "tenant": circuit[0],
                "destination": circuit[1],
                "until": str(after.slow_until),
            },
        )
    elif before.opened and not after.opened:
        logger.info(
            "a circuit breaker closed",
            extra={"action": "breaker_closed", "tenant": circuit[0], "destination": circuit[1]},
        )
