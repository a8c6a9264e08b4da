"""steady: tasks registered one by one all the time, due 3 to 20 s later, half to a queue and half to a webhook."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from bench import tasks, warm
from bench.arriving import judged
from bench.bed import Bed
from bench.destinations import Destination
from bench.figures import ratio, rounded, spread
from bench.load import side_by_side
from bench.plan import CLIENTS, Plan
from bench.report import Line
from bench.stream import Planned, planned, sleep_until
from bench.timers import timers
from cli.progress import step

_PATIENCE_SECONDS: Final = 30


class Registered(NamedTuple):
    one: Planned
    task_id: str
    due_at: datetime
    took_ms: float


def steady(bed: Bed, plan: Plan) -> Iterator[Line]:
    """The figure with a floor is the lateness's p99: the floor is that of timers that do nothing else, and the lower
    the better, so is the ratio."""
    warm.api(bed)
    warm.executors(bed)
    for rate in plan.rates:
        lines = _steady(bed, rate, planned(rate, plan.seconds))
        floors = timers(bed, rate)
        for destination, line in zip(bed.destinations, lines, strict=True):
            floor = floors[destination.name].figures()["p99_ms"]
            late = line.get("p99_ms")
            yield line | {"floor": floor, "ratio": None if late is None else ratio(late, floor)}


def _steady(bed: Bed, rate: int, stream: list[Planned]) -> list[Line]:
    for destination in bed.destinations:
        destination.clear()
    began = time.perf_counter()
    with step(f"{len(stream)} tasks, {rate} a second"):
        registered = _registered(bed, stream)
    per_second = len(stream) / (time.perf_counter() - began)
    with step("waiting for the last of them"):
        lines = [_line(bed, destination, registered, rate) for destination in bed.destinations]
    return [line | {"registered_per_second": rounded(per_second)} for line in lines]


def _registered(bed: Bed, stream: list[Planned]) -> list[Registered]:
    """At its rate as long as four clients keep up with it. When they do not, what is due moves with them."""
    begin = datetime.now(UTC)

    def caller(opened: ExitStack) -> Callable[[Planned], Registered]:
        client = opened.enter_context(bed.client())

        def call(one: Planned) -> Registered:
            sleep_until(begin + timedelta(seconds=one.after))
            began, due_at = time.perf_counter(), tasks.ahead(one.ahead)
            form = tasks.form(one.one_of(bed.destinations), due_at, one.number)
            id = client.post(tasks.PATH, form).expect(201)["task_id"]
            return Registered(one, id, due_at, 1000 * (time.perf_counter() - began))

        return call

    return side_by_side(CLIENTS, stream, caller).answers


def _line(bed: Bed, destination: Destination, registered: list[Registered], rate: int) -> Line:
    mine = [each for each in registered if each.one.one_of(bed.destinations) is destination]
    due_ms = {each.task_id: tasks.ms(each.due_at) for each in mine}
    found = judged(destination, due_ms, max(each.due_at for each in mine), _PATIENCE_SECONDS)
    return {
        "case": "steady",
        "what": f"{rate}/s, half of them to {destination.name}",
        "count": len(mine),
        **found.figures(),
        **tasks.own_account(bed, due_ms),
        **spread((each.took_ms for each in mine), 50, 95, prefix="register_"),
    }
