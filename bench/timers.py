"""The floor of punctuality: timers in this process, each of which sleeps to the instant and makes one bare call."""

import random
from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from bench import tasks
from bench.bare import BareCaller, BareEngine
from bench.bed import Bed
from bench.load import side_by_side
from bench.outcome import Outcome, outcome
from bench.stream import sleep_until
from cli.progress import step

_SECONDS: Final = 10
_HEAD_START_SECONDS: Final = 1
_TIMERS: Final = 8


def timers(bed: Bed, rate: int) -> dict[str, Outcome]:
    """Outcome at each destination, by its name, of `rate` timers a second at random instants."""
    bare = BareEngine(bed)
    drawn = random.Random(rate)  # noqa: S311 (no secret)
    afters = sorted(drawn.uniform(0, _SECONDS) for _ in range(rate * _SECONDS))
    for destination in bed.destinations:
        destination.clear()
    due_at = {
        f"bare-{number}": tasks.ahead(_HEAD_START_SECONDS + after) for number, after in enumerate(afters)
    }
    mine = {
        destination.name: list(due_at)[place :: len(bed.destinations)]
        for place, destination in enumerate(bed.destinations)
    }
    to_queue = frozenset(mine[bed.queue.name])

    def caller(opened: ExitStack) -> Callable[[str], None]:
        connection = BareCaller(bed.webhook.port)
        opened.callback(connection.close)

        def call(id: str) -> None:
            sleep_until(due_at[id])
            if id in to_queue:
                bare.send([id])
            else:
                connection.post(id)

        return call

    with step(f"{len(due_at)} bare timers, {rate} a second"):
        side_by_side(_TIMERS, due_at, caller)
    return {
        destination.name: outcome(
            {id: tasks.ms(due_at[id]) for id in mine[destination.name]}, destination.arrivals()
        )
        for destination in bed.destinations
    }
