"""register: single registrations, reads by id and batches of a hundred, through HTTP."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

from bench import tasks, warm
from bench.bare import STATEMENTS_MAX, BareEngine, chunks
from bench.bed import Bed
from bench.figures import ratio, rounded, spread
from bench.load import Ran, side_by_side
from bench.plan import BATCH, CLIENTS, Plan
from bench.report import Line
from cli.progress import step

_FAR_SECONDS = 86_400 * 30


def register(bed: Bed, plan: Plan) -> Iterator[Line]:
    """Two floors: `floor` is the bare put or read by boto3 from four threads, without a function in between;
    `http_floor` is `GET /health` from four clients, which passes the HTTP API and the function and does no work.
    """
    warm.api(bed)
    bare = BareEngine(bed)
    far = tasks.ahead(_FAR_SECONDS)
    rows = bare.rows(plan.calls, far)
    forms = [tasks.form(bed.queue, far, number) for number in range(plan.calls)]

    with step(f"{plan.calls} times GET /health"):
        health = _got(bed, ["/health"] * plan.calls)
    with step(f"{plan.calls} registrations, one by one"):
        registered = tasks.register(bed, forms)
    with step(f"{plan.calls} bare puts"):
        put = side_by_side(CLIENTS, rows, lambda _: bare.put)
    yield _line("POST /api/v1/tasks", registered) | _floors(registered, put, health)

    with step(f"{plan.calls} reads by id"):
        read = _got(bed, [f"{tasks.PATH}/{answer['task_id']}" for answer in registered.answers])
    with step(f"{plan.calls} bare reads"):
        bare_read = side_by_side(CLIENTS, rows, lambda _: bare.get)
    yield _line("GET /api/v1/tasks/{id}", read) | _floors(read, bare_read, health)

    several = forms * 2
    with step(f"{len(several)} registrations in batches of {BATCH}"):
        batches = tasks.register_batches(bed, several, CLIENTS)
    inserts = list(chunks(bare.inserts(bare.rows(len(several), far)), STATEMENTS_MAX))
    with step(f"{len(several)} bare inserts in batches of {STATEMENTS_MAX}"):
        inserted = side_by_side(CLIENTS, inserts, lambda _: bare.execute)
    per_second, floor = len(several) / batches.seconds, len(several) / inserted.seconds
    yield _line(f"POST /api/v1/tasks/batch, {BATCH} each", batches) | {
        "count": len(several),
        "per_second": rounded(per_second),
        "floor": rounded(floor),
        "ratio": ratio(per_second, floor),
    }


def _got(bed: Bed, paths: list[str]) -> Ran[Any]:
    def caller(opened: ExitStack) -> Callable[[str], Any]:
        client = opened.enter_context(bed.client())
        return lambda path: client.get(path).expect(200)

    return side_by_side(CLIENTS, paths, caller)


def _line(what: str, ran: Ran[Any]) -> Line:
    return {
        "case": "register",
        "what": f"{what}, {CLIENTS} clients",
        "count": len(ran.answers),
        "per_second": rounded(ran.per_second),
        **spread(ran.took_ms, 50, 95, 99),
    }


def _floors(ours: Ran[Any], bare: Ran[Any], health: Ran[Any]) -> Line:
    return {
        "floor": rounded(bare.per_second),
        "ratio": ratio(ours.per_second, bare.per_second),
        "http_floor": rounded(health.per_second),
        "http_ratio": ratio(ours.per_second, health.per_second),
        "http_floor_p95_ms": spread(health.took_ms, 95)["p95_ms"],
    }
