"""overview: how long an operator's look at the whole service takes, as deployed and with nothing remembered.

A deployed function remembers the ages of queues for a minute and other parts for some seconds. In the second line each
look reads all of them again, in a process of its own and without HTTP: the slowest look that a console can meet.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

from bench import warm
from bench.bed import Bed
from bench.figures import percentile, ratio, rounded, spread
from bench.load import Ran, side_by_side
from bench.looking import AGES, OVERVIEW
from bench.payments import TENANT
from bench.plan import Plan
from bench.report import Line
from cli.client import Client
from cli.failure import Failure
from cli.local.once import ROOT
from cli.progress import step

# A console of one operator beside that of another.
_CLIENTS: Final = 2
_SECONDS_MAX: Final = 120


def overview(bed: Bed, plan: Plan) -> Iterator[Line]:
    """The floor is the p95 of `GET /health` from as many clients; of looks that read all, that of one bare request for
    one metric. `unsound` counts the looks that did not ask for the ages."""
    warm.api(bed)
    with step(f"{plan.calls} times GET /health"):
        health = _got(bed, "/health", plan.calls)
    _got(bed, OVERVIEW, 10 * _CLIENTS)
    with step(f"{plan.calls} times GET {OVERVIEW}"):
        looked = _got(bed, OVERVIEW, plan.calls)
    yield line(f"GET {OVERVIEW}, {_CLIENTS} clients", looked.took_ms, health.took_ms)
    looks = max(1, plan.calls // 4)
    with step(f"{looks} looks with nothing remembered"):
        told = _looked(bed, looks)
    yield line("the same in its process, all read again", told["took_ms"], told["bare_ms"]) | {
        "unsound": not_asked(told["calls"], looks)
    }


def line(what: str, took_ms: list[float], floor_ms: list[float]) -> Line:
    late = percentile(sorted(took_ms), 95)
    floor = percentile(sorted(floor_ms), 95)
    return {
        "case": "overview",
        "what": what,
        "count": len(took_ms),
        **spread(took_ms, 50, 95, 99),
        "floor": rounded(floor),
        "ratio": ratio(late, floor),
    }


def not_asked(calls: dict[str, int], looks: int) -> int:
    return abs(looks - calls.get(AGES, 0))


def _got(bed: Bed, path: str, count: int) -> Ran[Any]:
    def caller(opened: ExitStack) -> Callable[[str], Any]:
        client = opened.enter_context(Client(bed.stack.api_url, bed.stack.operator_key))
        return lambda asked: client.get(asked).expect(200)

    return side_by_side(_CLIENTS, [path] * count, caller)


def _looked(bed: Bed, looks: int) -> dict[str, Any]:
    asked = {"tenant": TENANT, "key": bed.stack.operator_key, "looks": looks}
    ran = subprocess.run(
        [sys.executable, "-m", "bench.looking"], cwd=ROOT, input=json.dumps(asked),
        capture_output=True, text=True, timeout=_SECONDS_MAX, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise Failure(f"The looks failed:\n{ran.stderr[-2000:]}")
    told: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return told
