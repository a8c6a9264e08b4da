"""burst: many tasks due at one instant, once to a queue and once to a webhook."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

from bench import tasks, warm
from bench.arriving import judged
from bench.bare import STATEMENTS_MAX, BareCaller, BareEngine, chunks
from bench.bed import Bed
from bench.destinations import Destination
from bench.figures import ratio, rounded
from bench.load import side_by_side
from bench.plan import CLIENTS, Plan
from bench.report import Line
from cli.failure import Failure
from cli.progress import step

_SECONDS_TO_REGISTER: Final = 5
_REGISTERED_A_SECOND: Final = 300
_PATIENCE_SECONDS: Final = 30
_DRAINED_A_SECOND: Final = 50


def burst(bed: Bed, plan: Plan) -> Iterator[Line]:
    """Drain is all of them by the time from the instant to the last arrival. Its floor is claims and completions by
    statements of 25 and sends of ten, or posts on four open connections, from four threads."""
    warm.api(bed)
    warm.executors(bed)
    for destination in bed.destinations:
        line = _burst(bed, destination, plan.items)
        floor = bare_per_second(bed, destination, plan.items)
        drain = line["drain_per_second"]
        yield line | {"floor": rounded(floor), "ratio": ratio(drain, floor) if drain else None}


def _burst(bed: Bed, destination: Destination, items: int) -> Line:
    destination.clear()
    due_at = tasks.ahead(_SECONDS_TO_REGISTER + items / _REGISTERED_A_SECOND)
    with step(f"{items} registrations for one instant, to {destination.name}"):
        forms = [tasks.form(destination, due_at, number) for number in range(items)]
        registered = tasks.register_batches(bed, forms, 1)
    spare = (due_at - tasks.now()).total_seconds()
    if spare < 0:
        raise Failure(
            f"{items} registrations took longer than the {items / _REGISTERED_A_SECOND:.0f} s for them."
        )
    due_ms = dict.fromkeys((id for ids in registered.answers for id in ids), tasks.ms(due_at))
    patience = _PATIENCE_SECONDS + items / _DRAINED_A_SECOND
    with step(f"waiting {spare:.0f} s for the instant, then for {items} arrivals"):
        found = judged(destination, due_ms, due_at, patience)
    last_ms = max(found.lateness_ms, default=0.0)
    return {
        "case": "burst",
        "what": f"tasks to {destination.name}",
        "count": items,
        "registered_per_second": rounded(items / registered.seconds),
        "spare_seconds": rounded(spare),
        "drain_per_second": rounded(1000 * len(found.lateness_ms) / last_ms) if last_ms > 0 else None,
        **found.figures(),
        **tasks.own_account(bed, due_ms),
    }


def bare_per_second(bed: Bed, destination: Destination, items: int) -> float:
    """The floor: claims, deliveries and completions of as many tasks in a bare loop."""
    bare = BareEngine(bed)
    rows = bare.rows(items, tasks.ahead(86_400 * 30))
    bare.execute(bare.inserts(rows))
    work = [
        (
            bare.changes(some, "RUNNING", 2),
            [row["id"]["S"] for row in some],
            bare.changes(some, "SUCCEEDED", 3),
        )
        for some in chunks(rows, STATEMENTS_MAX)
    ]

    def caller(opened: ExitStack) -> Callable[[tuple[Any, list[str], Any]], None]:
        if destination is bed.queue:
            deliver = bare.send
        else:
            connection = BareCaller(bed.webhook.port)
            opened.callback(connection.close)
            deliver = connection.post_all

        def call(one: tuple[Any, list[str], Any]) -> None:
            claims, ids, completions = one
            bare.execute(claims)
            deliver(ids)
            bare.execute(completions)

        return call

    destination.clear()
    with step(f"the same by a bare loop ({destination.name})"):
        ran = side_by_side(CLIENTS, work, caller)
        time.sleep(0.1)
        if destination.count() != items:
            raise Failure(f"Of the bare loop's {items} calls {destination.count()} arrived.")
    destination.clear()
    return items / ran.seconds
