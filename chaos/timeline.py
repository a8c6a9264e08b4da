"""The instants of all faults, the same for the same seed."""

from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

KILLED: Final = ("api", "run-tasks", "settle", "sweep")
# How many seconds lie between two faults of a kind, on average.
EVERY: Final = {
    "kill api": 10, "kill run-tasks": 22, "kill settle": 15, "kill sweep": 16,
    "duplicate tasks": 1.5, "duplicate payments": 1.5, "double the sweep": 8, "stop the sweep": 40,
}  # fmt: skip
RESUME: Final = "resume the sweep"
_CALM_SECONDS: Final = 6
_FIRST_WITHIN_SECONDS: Final = 20
_STOPPED_SECONDS: Final = (12, 25)


class Fault(NamedTuple):
    """`at` is in seconds from the start."""

    at: float
    what: str


def timeline(seed: int, seconds: float) -> list[Fault]:
    """Each kind begins early, so that a short run has them all; when it ends, the sweep goes on."""
    draws = Random(seed)  # noqa: S311 (no secret)
    return sorted(fault for what in EVERY for fault in _of(what, draws, seconds))


def _of(what: str, draws: Random, seconds: float) -> Iterator[Fault]:
    every = EVERY[what]
    at = _CALM_SECONDS + draws.uniform(0, min(every, _FIRST_WITHIN_SECONDS))
    while at < seconds:
        yield Fault(at, what)
        if what == "stop the sweep":
            at = min(at + draws.uniform(*_STOPPED_SECONDS), seconds)
            yield Fault(at, RESUME)
        at += every * draws.uniform(0.5, 1.5)
