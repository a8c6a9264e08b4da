"""units: what a task takes of the tables, the queues and Lambda, and what a million of them cost."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

from cli.bench.bed import Bed
from cli.bench.plan import Plan
from cli.bench.prices import dollars_a_million
from cli.bench.report import Line
from cli.failure import Failure
from cli.local.once import ROOT
from cli.progress import step

TENANT: Final = "demo"
_QUEUE: Final = "postdate-local-bench-counted"
_COUNTED: Final = ("write_units", "read_units", "dynamodb_requests", "sqs_requests", "lambda_requests")
_WAYS: Final[dict[str, dict[str, Any]]] = {
    "a task alone": {"tasks": 1, "keyed": False},
    "a task alone, with a key": {"tasks": 1, "keyed": True},
    "one of 100": {"tasks": 100, "keyed": False},
    "one of 100, with keys": {"tasks": 100, "keyed": True},
    "one of 100 in a minute a day ahead": {"tasks": 100, "keyed": False, "far": True},
}
_SECONDS_MAX: Final = 90


def units(bed: Bed, plan: Plan) -> Iterator[Line]:
    """In a process of its own, whose botocore reports: see `counting`. A phase's figures are for one task."""
    queue_url = bed.sqs.create_queue(QueueName=_QUEUE)["QueueUrl"]
    stack = {"queue_url": queue_url, "destination_url": bed.queue.url, "tenant": TENANT}
    with step("counting what a task takes"):
        counted = _counted({"stack": stack, "ways": list(_WAYS.values())})
    for (what, way), phases in zip(_WAYS.items(), counted, strict=True):
        total = dict.fromkeys(_COUNTED, 0.0)
        for phase, counts in phases.items():
            each = {name: counts.get(name, 0) / way["tasks"] for name in _COUNTED}
            total = {name: total[name] + each[name] for name in _COUNTED}
            yield _line(what, phase, each)
        if "completion" in phases:
            yield _line(what, "whole", total)


def _line(what: str, phase: str, each: dict[str, float]) -> Line:
    figures = {name: round(each[name], 4) for name in _COUNTED}
    return {
        "case": "units",
        "what": what,
        "phase": phase,
        **figures,
        "dollars_a_million": round(dollars_a_million(each), 3),
    }


def _counted(asked: dict[str, Any]) -> list[dict[str, dict[str, float]]]:
    ran = subprocess.run(
        [sys.executable, "-m", "cli.bench.counting"], cwd=ROOT, input=json.dumps(asked),
        capture_output=True, text=True, timeout=_SECONDS_MAX, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise Failure(f"Counting failed:\n{ran.stderr[-2000:]}")
    return list(json.loads(ran.stdout))
