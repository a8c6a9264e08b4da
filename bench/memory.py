"""memory: the peak of each function's process after its imports and after a load, and the memory of the engine.

A process has its imports in a start of its own, as in `cold`. After the load the workers of the stack are read, those
of all cases before included. The floor of a function is a program that only makes one DynamoDB client.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from bench import warm
from bench.bed import Bed
from bench.cold import CLIENT_ONLY, names, started
from bench.figures import ratio, rounded
from bench.payment_steady import steady_one_by_one
from bench.plan import Plan
from bench.report import Line
from cli.failure import Failure
from cli.local.own import FUNCTION, environment
from cli.local.processes import Process
from cli.progress import step

PEAK: Final = "VmHWM"
NOW: Final = "VmRSS"
_RATE: Final = 50
_SECONDS: Final = 5


def memory(bed: Bed, plan: Plan) -> Iterator[Line]:
    before_mb = engine_mb(bed)
    warm.api(bed)
    warm.executors(bed)
    steady_one_by_one(bed, _RATE, _SECONDS)
    with step("starting each function once"):
        floor_mb = started(CLIENT_ONLY, dict(os.environ)).rss_mb
        imported = {name: _imported_mb(name) for name in names()}
    for name, import_mb in imported.items():
        yield line(name, import_mb, workers_mb(bed, name), floor_mb)
    after_mb = engine_mb(bed)
    yield {
        "case": "memory",
        "what": "the engine, now",
        "count": 1,
        "rss_mb": rounded(after_mb),
        "floor": rounded(before_mb),
        "ratio": ratio(after_mb, before_mb),
    }


def line(name: str, import_mb: float, loaded_mb: Sequence[float], floor_mb: float) -> Line:
    """`rss_mb` is the largest worker. A function that the load does not call has its imports only."""
    most_mb = max(loaded_mb, default=import_mb)
    return {
        "case": "memory",
        "what": name,
        "count": len(loaded_mb),
        "import_mb": rounded(import_mb),
        "rss_mb": rounded(most_mb),
        "floor": rounded(floor_mb),
        "ratio": ratio(most_mb, floor_mb),
    }


def engine_mb(bed: Bed) -> float:
    """The memory that the engine has now, without its workers."""
    return megabytes(Path(f"/proc/{bed.stack.pid}/status").read_text(), NOW)


def workers_mb(bed: Bed, name: str) -> list[float]:
    """The peak of each worker of the function that lives."""
    folder = f"ministack-lambda-{FUNCTION.format(name.replace('_', '-'))}-"
    pids = Process.noted(bed.stack.pid).group(marked=folder)
    return [megabytes(text, PEAK) for text in map(_status, pids) if text]


def megabytes(status: str, figure: str) -> float:
    """One figure of the status that the system tells of a process."""
    for each in status.splitlines():
        if each.startswith(f"{figure}:"):
            return int(each.split()[1]) / 1024
    raise Failure(f"This system does not tell {figure} of a process.")


def _status(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def _imported_mb(name: str) -> float:
    variables: Mapping[str, str] = dict(os.environ) | environment(name.replace("_", "-"))
    return started(f"import functions.{name}.entry", variables).rss_mb
