"""A steady stream of tasks: when each is registered, when it is due and where it goes."""

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from cli.bench.destinations import Destination
from postdate.domain import instants

AHEAD_SECONDS: Final = (3.0, 20.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """One task of a stream, its instants in seconds after the stream's begin."""

    number: int
    register: float
    due: float

    def due_at(self, begin: datetime) -> datetime:
        return instants.whole(begin + timedelta(seconds=self.due))

    def due_ms(self, begin: datetime) -> float:
        return float(instants.milliseconds(self.due_at(begin)))

    def one_of(self, destinations: tuple[Destination, ...]) -> Destination:
        """Each gets its share, turn by turn."""
        return destinations[self.number % len(destinations)]


def planned(rate: int, seconds: float) -> list[Planned]:
    """Drawn with a fixed seed: every run has the same stream."""
    drawn = random.Random(rate)  # noqa: S311 (no secret)
    return [
        Planned(number=number, register=number / rate, due=number / rate + drawn.uniform(*AHEAD_SECONDS))
        for number in range(round(rate * seconds))
    ]


def sleep_until(instant: datetime) -> None:
    """Never returns before it."""
    while (left := (instant - datetime.now(UTC)).total_seconds()) > 0:
        time.sleep(left)
