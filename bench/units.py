"""units: what a task or a payment takes of the tables, the queues and Lambda, and what a million of them cost."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

from bench.bed import Bed
from bench.plan import Plan
from bench.prices import dollars_a_million
from bench.report import Line
from cli.failure import Failure
from cli.local.once import ROOT
from cli.progress import step

TENANT: Final = "demo"
_QUEUES: Final = {name: f"postdate-local-bench-{name}" for name in ("tasks", "payments")}
_COUNTED: Final = ("write_units", "read_units", "dynamodb_requests", "sqs_requests", "lambda_requests")
_TASKS: Final[dict[str, dict[str, Any]]] = {
    "a task alone": {"tasks": 1, "keyed": False},
    "a task alone, with a key": {"tasks": 1, "keyed": True},
    "one of 100": {"tasks": 100, "keyed": False},
    "one of 100, with keys": {"tasks": 100, "keyed": True},
    "one of 100 in a minute a day ahead": {"tasks": 100, "keyed": False, "far": True},
}
_PAYMENTS: Final[dict[str, dict[str, Any]]] = {
    "a payment alone": {"payments": 1},
    "one of 100 payments over 20 accounts": {"payments": 100},
    "one of 100 payments onto one account": {"payments": 100, "hot": True},
}
_KEY: Final = "key"
_SECONDS_MAX: Final = 90


def units(bed: Bed, plan: Plan) -> Iterator[Line]:
    """In a process of its own, whose botocore reports: see `counting`. A phase's figures are for one item."""
    given = asked(bed, tasks=list(_TASKS.values()), payments=list(_PAYMENTS.values()))
    with step("counting what tasks and payments take"):
        found = counted(given)
    for (what, way), phases in zip(_TASKS.items(), found["tasks"], strict=True):
        each = _each(phases, way["tasks"])
        yield from (_line(what, phase, counts) for phase, counts in each.items())
        if "completion" in each:
            yield _line(what, "whole", _sum(each))
    for (what, way), phases in zip(_PAYMENTS.items(), found["payments"], strict=True):
        each = _each(phases, way["payments"])
        yield from (_line(what, phase, counts) for phase, counts in each.items())
        own = {phase: counts for phase, counts in each.items() if phase != _KEY}
        yield _line(what, "whole, without the key", _sum(own))
        yield _line(what, "whole", _sum(each))


def _each(phases: dict[str, dict[str, float]], items: int) -> dict[str, dict[str, float]]:
    return {
        phase: {name: counts.get(name, 0) / items for name in _COUNTED} for phase, counts in phases.items()
    }


def _sum(phases: dict[str, dict[str, float]]) -> dict[str, float]:
    return {name: sum(counts[name] for counts in phases.values()) for name in _COUNTED}


def _line(what: str, phase: str, each: dict[str, float]) -> Line:
    figures = {name: round(each[name], 4) for name in _COUNTED}
    return {
        "case": "units",
        "what": what,
        "phase": phase,
        **figures,
        "dollars_a_million": round(dollars_a_million(each), 3),
    }


def asked(bed: Bed, *, tasks: list[dict[str, Any]], payments: list[dict[str, Any]]) -> dict[str, Any]:
    """The environment of a process that counts units. The process reads the stack's tables, and queues of its own."""
    return {
        "queues": {
            name: bed.sqs.create_queue(QueueName=queue)["QueueUrl"] for name, queue in _QUEUES.items()
        },
        "destination_url": bed.queue.url,
        "tenant": TENANT,
        "apart": {bed.environment["IDEMPOTENCY_TABLE"]: _KEY},
        "tasks": tasks,
        "payments": payments,
    }


def counted(given: dict[str, Any]) -> dict[str, list[dict[str, dict[str, float]]]]:
    ran = subprocess.run(
        [sys.executable, "-m", "bench.counting"], cwd=ROOT, input=json.dumps(given),
        capture_output=True, text=True, timeout=_SECONDS_MAX, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise Failure(f"Counting failed:\n{ran.stderr[-2000:]}")
    # The functions write their log and metrics to the same output: the counts are its last line.
    return dict(json.loads(ran.stdout.splitlines()[-1]))
