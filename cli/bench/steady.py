"""steady: tasks registered one by one all the time, due 3 to 20 s later, half to a queue and half to a webhook."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from cli.bench import tasks, warm
from cli.bench.arriving import judged
from cli.bench.bare import BareCaller, BareEngine
from cli.bench.bed import Bed
from cli.bench.destinations import Destination
from cli.bench.figures import ratio, rounded, spread
from cli.bench.load import side_by_side
from cli.bench.outcome import outcome
from cli.bench.plan import CLIENTS, Plan
from cli.bench.report import Line
from cli.progress import step
from postdate.domain import instants

_AHEAD_SECONDS: Final = (3.0, 20.0)
_PATIENCE_SECONDS: Final = 30
_FLOOR_SECONDS: Final = 10
_TIMERS: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Planned:
    """One task of a steady stream, by seconds after its begin."""

    number: int
    register: float
    due: float


def steady(bed: Bed, plan: Plan) -> Iterator[Line]:
    """The figure with a floor is the p99 of the lateness; the floor is that of timers in this process, each of which
    sleeps until the instant and then makes one bare call. The lower is the better, so is the ratio."""
    warm.api(bed)
    warm.executors(bed)
    for rate in plan.rates:
        stream = planned(rate, plan.seconds)
        lines = _steady(bed, rate, stream)
        floors = _floor(bed, rate)
        for destination, line in zip(bed.destinations, lines, strict=True):
            floor = floors[destination.name]
            late = line.get("p99_ms")
            yield line | {"floor": floor, "ratio": ratio(late, floor) if late is not None else None}


def planned(rate: int, seconds: float) -> list[Planned]:
    """Drawn with a fixed seed: every run has the same stream."""
    drawn = random.Random(rate)  # noqa: S311 (no secret)
    return [
        Planned(number=number, register=number / rate, due=number / rate + drawn.uniform(*_AHEAD_SECONDS))
        for number in range(round(rate * seconds))
    ]


def _steady(bed: Bed, rate: int, stream: list[Planned]) -> list[Line]:
    for destination in bed.destinations:
        destination.clear()
    begin = datetime.now(UTC) + timedelta(seconds=0.5)
    due_at = {one.number: instants.whole(begin + timedelta(seconds=one.due)) for one in stream}

    def caller(opened: ExitStack) -> Callable[[Planned], tuple[Planned, str, float]]:
        client = opened.enter_context(bed.client())

        def call(one: Planned) -> tuple[Planned, str, float]:
            _sleep_until(begin + timedelta(seconds=one.register))
            began = time.perf_counter()
            form = tasks.form(_destination(bed, one), due_at[one.number], one.number)
            id = client.post(tasks.PATH, form).expect(201)["task_id"]
            return one, id, 1000 * (time.perf_counter() - began)

        return call

    with step(f"{len(stream)} tasks, {rate} a second"):
        registered = side_by_side(CLIENTS, stream, caller)
    last = max(due_at.values())
    behind = registered.seconds - 0.5 - stream[-1].register
    lines = []
    with step("waiting for the last of them"):
        for destination in bed.destinations:
            due_ms = {
                id: float(instants.milliseconds(due_at[one.number]))
                for one, id, _ in registered.answers
                if _destination(bed, one) is destination
            }
            found = judged(destination, due_ms, last, _PATIENCE_SECONDS)
            lines.append(
                {
                    "case": "steady",
                    "what": f"{rate}/s, the half to {destination.name}",
                    "count": len(due_ms),
                    **found.figures(),
                    **tasks.own_account(bed, due_ms),
                    **{
                        f"register_{name}": ms
                        for name, ms in spread(_took(registered.answers), 50, 95).items()
                    },
                    "registered_behind_seconds": rounded(max(0.0, behind)),
                }
            )
    return lines


def _floor(bed: Bed, rate: int) -> Mapping[str, float]:
    """The p99 in ms for each destination."""
    bare = BareEngine(bed)
    stream = sorted(planned(rate, _FLOOR_SECONDS), key=lambda one: one.due)
    for destination in bed.destinations:
        destination.clear()
    begin = datetime.now(UTC) - timedelta(seconds=_AHEAD_SECONDS[0] - 1)
    due_at = {f"bare-{one.number}": instants.whole(begin + timedelta(seconds=one.due)) for one in stream}

    def caller(opened: ExitStack) -> Callable[[Planned], None]:
        connection = BareCaller(bed.webhook.port)
        opened.callback(connection.close)

        def call(one: Planned) -> None:
            id = f"bare-{one.number}"
            _sleep_until(due_at[id])
            if _destination(bed, one) is bed.queue:
                bare.send([id])
            else:
                connection.post(id)

        return call

    with step(f"{len(stream)} bare timers, {rate} a second"):
        side_by_side(_TIMERS, stream, caller)
    floors = {}
    for destination in bed.destinations:
        mine = {
            f"bare-{one.number}": float(instants.milliseconds(due_at[f"bare-{one.number}"]))
            for one in stream
            if _destination(bed, one) is destination
        }
        floors[destination.name] = outcome(mine, destination.arrivals()).figures()["p99_ms"]
        destination.clear()
    return floors


def _destination(bed: Bed, one: Planned) -> Destination:
    return bed.destinations[one.number % len(bed.destinations)]


def _took(answers: list[tuple[Any, str, float]]) -> list[float]:
    return [ms for _, _, ms in answers]


def _sleep_until(instant: datetime) -> None:
    """Never before it."""
    while (left := (instant - datetime.now(UTC)).total_seconds()) > 0:
        time.sleep(left)
