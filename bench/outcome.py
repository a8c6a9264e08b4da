"""Arrivals compared with the promises."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bench.figures import spread


class Arrival(NamedTuple):
    """One call as its destination saw it, in milliseconds since the epoch."""

    task_id: str
    at_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """`lateness_ms` has the first arrival of each task; an early one is below 0 and stays in."""

    lateness_ms: tuple[float, ...]
    missing: int
    twice: int
    early: int

    @property
    def broken(self) -> int:
        return self.missing + self.twice + self.early

    def figures(self) -> dict[str, float]:
        counts = {"missing": self.missing, "twice": self.twice, "early": self.early}
        return spread(self.lateness_ms, 50, 99) | counts


def outcome(due_ms: Mapping[str, float], arrivals: Iterable[Arrival]) -> Outcome:
    """`due_ms` says of every task when it was due. What arrives of no such task is not asked about."""
    seen: dict[str, list[float]] = {}
    for arrival in arrivals:
        if arrival.task_id in due_ms:
            seen.setdefault(arrival.task_id, []).append(arrival.at_ms)
    return Outcome(
        lateness_ms=tuple(min(at) - due_ms[task_id] for task_id, at in seen.items()),
        missing=len(due_ms) - len(seen),
        twice=sum(len(at) > 1 for at in seen.values()),
        early=sum(moment < due_ms[task_id] for task_id, at in seen.items() for moment in at),
    )
