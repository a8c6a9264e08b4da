"""A game day from its begin to its end: drills in the order of the seed, those that wait beside the others."""

import math
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from http.client import HTTPException
from itertools import count
from random import Random
from typing import Final

from botocore.exceptions import ClientError

from chaos import bed as beds
from chaos.bed import Bed
from chaos.game import books, destinations, executors, poison, sweeper, switches, throttled
from chaos.game.drill import Drill, Line
from chaos.game.ground import Ground, made
from cli.failure import Failure
from cli.progress import step

DRILLS: Final = (
    *(executors.DRILL, sweeper.DRILL, poison.DRILL, books.DRILL, throttled.DRILL),
    *destinations.DRILLS,
    *switches.DRILLS,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """No drill begins after `minutes`. While there is time for all of them, they begin anew with other draws."""

    minutes: int
    seed: int


def run(plan: Plan) -> Generator[Line, None, None]:
    """Each line as soon as it is known, on a stack of its own."""
    with beds.made("game-day") as bed:
        yield from played(bed, plan)


def played(bed: Bed, plan: Plan) -> Iterator[Line]:
    """On a stack that runs."""
    began = time.monotonic()
    yield {"case": "game day", "what": f"{plan.minutes} min, seed {plan.seed}"}
    ends_at = began + 60 * plan.minutes
    with made(bed) as ground:
        yield from _round(ground, Random(f"{plan.seed} 0"), ends_at)  # noqa: S311 (no secret)
        lasted = time.monotonic() - began
        for number in count(1):
            if time.monotonic() + lasted > ends_at:
                break
            yield from _round(ground, Random(f"{plan.seed} {number}"), math.inf)  # noqa: S311 (no secret)
    yield {"case": "game day", "what": "lasted", "max_ms": round(1000 * (time.monotonic() - began))}


def in_order(draws: Random, drills: Sequence[Drill] = DRILLS) -> list[Drill]:
    """Draws an order. Drills that run beside others come first."""
    drawn = draws.sample(list(drills), len(drills))
    return sorted(drawn, key=lambda drill: not drill.beside)


def _round(ground: Ground, draws: Random, ends_at: float) -> Iterator[Line]:
    """Every drill once. A drill that time does not allow has failed: it showed nothing."""
    rest: list[tuple[Drill, Future[list[Line]]]] = []
    with ThreadPoolExecutor(max_workers=len(DRILLS)) as beside:
        for drill in in_order(draws):
            if time.monotonic() > ends_at:
                yield _of(drill, {"what": "fault", "ok": False, "observed": "no time was left for it"})
                continue
            lines = _whole(drill.play(ground, Random(draws.random())))  # noqa: S311 (no secret)
            with step(drill.name):
                if drill.beside:
                    yield _of(drill, next(lines))
                    rest.append((drill, beside.submit(list, lines)))
                else:
                    for line in lines:
                        yield _of(drill, line)
        for drill, later in rest:
            with step(f"{drill.name}, the rest"):
                for line in later.result():
                    yield _of(drill, line)


def _whole(lines: Iterator[Line]) -> Iterator[Line]:
    """An error ends its drill, which has failed then, and no other."""
    try:
        yield from lines
    except (Failure, LookupError, OSError, HTTPException, ClientError) as error:
        yield {"what": "broken off", "ok": False, "observed": f"{type(error).__name__}: {error}"}


def _of(drill: Drill, line: Line) -> Line:
    return {"case": drill.name} | line
