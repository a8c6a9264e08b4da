"""The watcher of payments as the benchmark sees it: told of payments while it runs, asked what it saw at the end."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final

from bench.bed import Bed
from bench.figures import rounded, spread
from bench.watcher import APART_SECONDS, PATIENCE_MS
from cli.failure import Failure
from cli.local.once import ROOT
from postdate.domain.slots import home

_ENDS_WITHIN_SECONDS: Final = PATIENCE_MS / 1000 + 15


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """`seen_ms` has the instant at which each payment was first seen COMPLETED, at the latest."""

    seen_ms: dict[str, float]
    looks_ms: list[float]
    cpu_seconds: float

    def cost(self, seconds: float) -> dict[str, float]:
        """Cost of watching: its share of the machine, and the interval of its looks beside the time of each."""
        return {
            "looks_per_second": rounded(len(self.looks_ms) / seconds),
            "looks_rest_ms": 1000 * APART_SECONDS,
            **spread(self.looks_ms, 50, prefix="look_"),
            "watcher_cpu_percent": rounded(100 * self.cpu_seconds / seconds),
        }


class Watching:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None  # noqa: S101 (asked for)
        self._process = process
        self._tell: IO[str] = process.stdin
        self._lock = threading.Lock()
        self._last_due_ms = 0.0

    def watch(self, due_ms: dict[str, float]) -> None:
        lines = "".join(f"{home(id).key} {id} {at}\n" for id, at in due_ms.items())
        with self._lock:
            self._last_due_ms = max(self._last_due_ms, *due_ms.values())
            self._tell.write(lines)
            self._tell.flush()

    def seen(self) -> Seen:
        """Returns what the watcher saw, after it saw all payments or its patience ended."""
        left = max(0.0, self._last_due_ms / 1000 - time.time())
        told, _ = self._process.communicate(timeout=left + _ENDS_WITHIN_SECONDS)
        if self._process.returncode:
            raise Failure("The watcher of payments failed.")
        return Seen(**json.loads(told))


@contextmanager
def watching(bed: Bed) -> Iterator[Watching]:
    """In a group of its own, so that Ctrl-C reaches it through us."""
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.watcher", bed.environment["PAYMENTS_TABLE"]],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None  # noqa: S101 (asked for)
        if process.stdout.readline().strip() != "ready":
            raise Failure("The watcher of payments did not start.")
        yield Watching(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
