"""The numbers that go into a run of the simulation, and the outcome of a run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, inf

from postdate.domain.retry import put_off_seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """The times of a worker in seconds: a new environment, a batch without its items, the calls of items that are
    committed together, and an item. `units` are the write units of an item on the fullest table. A worker waits up
    to `patience` for units, and a throttled call returns after `put_off` of its lateness and a draw."""

    cold_start: float
    a_batch: float
    a_commit: float
    an_item: float
    units: float
    patience: float = 0.25
    put_off: Callable[[float, float], float] = put_off_seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Fleet:
    """The workers of one mapping: `first` at once, `added` more a second, up to `most`; `warm` have started before.
    With a `window` the mapping gathers up to a batch for so many seconds. `receives` are those of one worker's share
    of a poller, a second."""

    first: float
    added: float
    most: int
    batch: int = 10
    window: float = 0.0
    warm: int = 0
    receives: float = inf
    invocations: float = inf
    starts_at_once: float = inf
    starts_added: float = inf
    in_flight: float = inf


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """Write units a second of a table, and of each of its partitions."""

    writes: float
    partition: float
    partitions: int


@dataclass(kw_only=True, slots=True)
class Reached:
    """The first instant at which items waited for a limit, and the seconds that all of them waited for it."""

    first_at: float
    item_seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`lateness` has one entry in seconds for each item. `requests` are those to SQS; `throttled` counts refused
    tries to commit, of which an item may have several."""

    lateness: Sequence[float]
    throttled: int
    busy_seconds: float
    invocations: int
    requests: int
    at_once: int
    ended_at: float
    reached: dict[str, Reached] = field(default_factory=dict)

    @property
    def items(self) -> int:
        return len(self.lateness)

    @cached_property
    def _sorted(self) -> list[float]:
        return sorted(self.lateness)

    def percentile(self, share: float) -> float:
        return self._sorted[max(0, ceil(share * len(self._sorted)) - 1)]
