"""A steady stream of tasks: when each is registered, how much later it is due and where it goes."""

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from bench.destinations import Destination

AHEAD_SECONDS: Final = (3.0, 20.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """One task of a stream: `after` its begin it is registered, and due as long as `ahead` from then, in seconds."""

    number: int
    after: float
    ahead: float

    def one_of(self, destinations: tuple[Destination, ...]) -> Destination:
        """Each gets its share, turn by turn."""
        return destinations[self.number % len(destinations)]


def planned(rate: int, seconds: float, ahead: tuple[float, float] = AHEAD_SECONDS) -> list[Planned]:
    """Drawn with a fixed seed: every run has the same stream."""
    drawn = random.Random(rate)  # noqa: S311 (no secret)
    return [
        Planned(number=number, after=number / rate, ahead=drawn.uniform(*ahead))
        for number in range(round(rate * seconds))
    ]


def sleep_until(instant: datetime) -> None:
    """Never returns before it."""
    while (left := (instant - datetime.now(UTC)).total_seconds()) > 0:
        time.sleep(left)
