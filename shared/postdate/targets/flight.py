"""Deliveries under way, whatever their destinations, seen from the one thread that commits their outcomes."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from queue import Empty, SimpleQueue
from typing import NamedTuple

from postdate.targets.base import Delivery, Failed, Receipt, Target


class Landed(NamedTuple):
    delivery: Delivery
    receipt: Receipt


class Flight:
    """Starts deliveries at any time and hands over the receipts that came in since it was last asked.

    Not a list at the end: one receiver may take minutes while the others' outcomes want committing and leases want
    extending. Not a callback into the executor either: commits stay in one thread, and what landed together is
    committed together.
    """

    def __init__(self, targets: Mapping[str, Target]) -> None:
        self._targets = targets
        self._receipts: SimpleQueue[Landed] = SimpleQueue()
        self._under_way = 0

    @property
    def under_way(self) -> int:
        """How many were started and not yet handed over by `landed`."""
        return self._under_way

    def start(self, deliveries: Iterable[Delivery]) -> None:
        for name, group in groupby(sorted(deliveries, key=_type), key=_type):
            started = list(group)
            self._under_way += len(started)
            if target := self._targets.get(name):
                target.start(started, self._report)
            else:
                # Registered by a newer version than this one, which will be replaced.
                for delivery in started:
                    self._report(delivery, Failed(reason="unknown destination type"))

    def landed(self, *, wait_seconds: float) -> list[Landed]:
        """Everything that ended since; waits at most this long for the first, and not at all when none is under way."""
        landed: list[Landed] = []
        try:
            if self._under_way and wait_seconds > 0:
                landed.append(self._receipts.get(timeout=wait_seconds))
            while True:
                landed.append(self._receipts.get_nowait())
        except Empty:
            self._under_way -= len(landed)
            return landed

    def _report(self, delivery: Delivery, receipt: Receipt) -> None:
        self._receipts.put(Landed(delivery, receipt))


def _type(delivery: Delivery) -> str:
    return delivery.destination.type
