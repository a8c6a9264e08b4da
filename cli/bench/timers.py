"""The floor of punctuality: timers in this process, each of which sleeps to the instant and makes one bare call."""

from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Final

from cli.bench.bare import BareCaller, BareEngine
from cli.bench.bed import Bed
from cli.bench.load import side_by_side
from cli.bench.outcome import Outcome, outcome
from cli.bench.stream import AHEAD_SECONDS, Planned, planned, sleep_until
from cli.progress import step

_SECONDS: Final = 10
_TIMERS: Final = 8


def timers(bed: Bed, rate: int) -> dict[str, Outcome]:
    """What came of them at each destination, by its name."""
    bare = BareEngine(bed)
    stream = sorted(planned(rate, _SECONDS), key=lambda one: one.due)
    for destination in bed.destinations:
        destination.clear()
    begin = datetime.now(UTC) + timedelta(seconds=1 - AHEAD_SECONDS[0])

    def caller(opened: ExitStack) -> Callable[[Planned], None]:
        connection = BareCaller(bed.webhook.port)
        opened.callback(connection.close)

        def call(one: Planned) -> None:
            sleep_until(one.due_at(begin))
            if one.one_of(bed.destinations) is bed.queue:
                bare.send([_id(one)])
            else:
                connection.post(_id(one))

        return call

    with step(f"{len(stream)} bare timers, {rate} a second"):
        side_by_side(_TIMERS, stream, caller)
    found = {}
    for destination in bed.destinations:
        mine = {_id(one): one.due_ms(begin) for one in stream if one.one_of(bed.destinations) is destination}
        found[destination.name] = outcome(mine, destination.arrivals())
    return found


def _id(one: Planned) -> str:
    return f"bare-{one.number}"
