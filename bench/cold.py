"""cold: the start of each function in a process of its own, from nothing to the handler, and its memory.

The function's entry point imports all it needs and makes its clients, as in Lambda's initialisation. The bytecode
exists already, as it does in a bundle. The floor is the same for a program that only makes one DynamoDB client.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from bench.bed import Bed
from bench.figures import percentile, ratio, rounded
from bench.plan import Plan
from bench.report import Line
from cli.failure import Failure
from cli.local.once import ROOT
from cli.local.own import environment
from cli.progress import step

_TIMES: Final = 3
CLIENT_ONLY: Final = "import boto3; boto3.client('dynamodb')"
_MEASURED: Final = """
import json, sys, time
began, used = time.perf_counter(), time.process_time()
exec(sys.argv[1])
# ru_maxrss would begin with the memory of the process that started this one.
peak_kb = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({
    "wall_ms": 1000 * (time.perf_counter() - began),
    "cpu_ms": 1000 * (time.process_time() - used),
    "rss_mb": peak_kb / 1024,
}))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Start:
    """One start. `cpu_ms` is its own work, which a busy machine changes least."""

    wall_ms: float
    cpu_ms: float
    rss_mb: float


def cold(bed: Bed, plan: Plan) -> Iterator[Line]:
    with step(f"starting {len(names())} functions, {_TIMES} times each"):
        floor = _median([started(CLIENT_ONLY, dict(os.environ)) for _ in range(_TIMES)])
        for name in names():
            variables = dict(os.environ) | environment(name.replace("_", "-"))
            starts = [started(f"import functions.{name}.entry", variables) for _ in range(_TIMES)]
            found = _median(starts)
            yield {
                "case": "cold",
                "what": name,
                "count": _TIMES,
                "p50_ms": rounded(found.cpu_ms),
                "max_ms": rounded(max(each.wall_ms for each in starts)),
                "rss_mb": rounded(found.rss_mb),
                "floor": rounded(floor.cpu_ms),
                "ratio": ratio(floor.cpu_ms, found.cpu_ms),
            }


def names() -> list[str]:
    """All functions, as their folders are named."""
    return sorted(path.parent.name for path in (ROOT / "functions").glob("*/entry.py"))


def started(program: str, variables: Mapping[str, str]) -> Start:
    """Runs the program in a new process."""
    ran = subprocess.run(
        [sys.executable, "-c", _MEASURED, program],
        env={**variables, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "shared")])},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode:
        raise Failure(f"A function does not start: {ran.stderr.splitlines()[-1]}")
    return Start(**json.loads(ran.stdout.splitlines()[-1]))


def _median(starts: list[Start]) -> Start:
    return Start(
        wall_ms=percentile(sorted(each.wall_ms for each in starts), 50),
        cpu_ms=percentile(sorted(each.cpu_ms for each in starts), 50),
        rss_mb=percentile(sorted(each.rss_mb for each in starts), 50),
    )
