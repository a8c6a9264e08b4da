"""Emitted values, and the statistics of a period."""

import math
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from infra.watch.alarm import Series

Key = tuple[str, str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """Values emitted, by metric and dimensions: pairs of a second and a value, in the order of time."""

    of: dict[Key, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))

    def add(
        self, namespace: str, name: str, dimensions: tuple[tuple[str, str], ...], *, at: float, value: float
    ) -> None:
        insort(self.of[namespace, name, dimensions], (at, value))

    def value(self, series: Series, *, start: float, end: float) -> float | None:
        found = self.of.get((series.namespace, series.name, series.dimensions), [])
        first, last = (bisect_left(found, (at, -math.inf)) for at in (start, end))
        return statistic(series.statistic, [value for _, value in found[first:last]])


def statistic(name: str, values: Iterable[float]) -> float | None:
    """The statistic of the values of one period; None for a period without data."""
    ordered = sorted(values)
    if not ordered:
        return None
    match name:
        case "Sum":
            return math.fsum(ordered)
        case "SampleCount":
            return len(ordered)
        case "Average":
            return math.fsum(ordered) / len(ordered)
        case "Minimum":
            return ordered[0]
        case "Maximum":
            return ordered[-1]
        case _ if name.startswith("p"):
            return ordered[max(0, math.ceil(float(name[1:]) / 100 * len(ordered)) - 1)]
    raise ValueError(f"no statistic {name}")
