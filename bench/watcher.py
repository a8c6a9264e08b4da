"""Sees payments become COMPLETED, from outside; `python -m bench.watcher <table>` runs it.

A process of its own: in the generator's it would wait for the generator's lock. It is told `<slot> <id> <due ms>`, a
line each; from 10 ms before its instant on, a payment's row is read again and again with all others whose time it is,
up to 100 of them in one consistent BatchGetItem, every few milliseconds while there are any. It is seen when the answer
is there: an upper bound of its commit, and too early only if the payment was. When standard input ends and none is
left, it prints what it saw and what looking took of the machine.
"""

import heapq
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

import boto3
from botocore.config import Config

ASKED_AHEAD_MS: Final = 10.0
APART_SECONDS: Final = 0.004
PATIENCE_MS: Final = 30_000.0
KEYS_MAX: Final = 100
_IDLE_SECONDS: Final = 0.05
_DONE: Final = "COMPLETED"
Key = tuple[str, str]


class Watcher:
    """`read` answers which of some rows are COMPLETED, by their ids; `now_ms` is the clock of the instants."""

    def __init__(self, *, read: Callable[[list[Key]], Iterable[str]], now_ms: Callable[[], float]) -> None:
        self._read = read
        self._now_ms = now_ms
        self._coming: list[tuple[float, Key]] = []
        self._open: deque[tuple[float, Key]] = deque()
        self._lock = threading.Lock()
        self.seen_ms: dict[str, float] = {}
        self.looks_ms: list[float] = []

    def watch(self, slot: str, id: str, due_ms: float) -> None:
        with self._lock:
            heapq.heappush(self._coming, (due_ms, (slot, id)))

    @property
    def left(self) -> int:
        return len(self._coming) + len(self._open)

    def look(self) -> bool:
        """Reads, in one request, items that may have ended. An open item goes to the end of the line. Returns False if
        none may have ended."""
        self._take_up()
        chosen = [self._open.popleft() for _ in range(min(KEYS_MAX, len(self._open)))]
        if not chosen:
            return False
        began = self._now_ms()
        done = frozenset(self._read([key for _, key in chosen]))
        now = self._now_ms()
        self.looks_ms.append(now - began)
        for due_ms, key in chosen:
            if key[1] in done:
                self.seen_ms[key[1]] = now
            elif now < due_ms + PATIENCE_MS:
                self._open.append((due_ms, key))
        return True

    def rest_seconds(self) -> float:
        """Returns the seconds until the next look can find something."""
        if self._open:
            return APART_SECONDS
        with self._lock:
            next_ms = (
                self._coming[0][0] - ASKED_AHEAD_MS - self._now_ms() if self._coming else _IDLE_SECONDS * 1000
            )
        return min(max(0.0, next_ms / 1000), _IDLE_SECONDS)

    def _take_up(self) -> None:
        with self._lock:
            while self._coming and self._coming[0][0] - ASKED_AHEAD_MS <= self._now_ms():
                self._open.append(heapq.heappop(self._coming))


def reader(table: str) -> Callable[[list[Key]], Iterable[str]]:
    client = boto3.Session().client("dynamodb", config=Config(parameter_validation=False))

    def read(keys: list[Key]) -> Iterable[str]:
        asked = {
            "Keys": [{"slot": {"S": slot}, "id": {"S": id}} for slot, id in keys],
            "ProjectionExpression": "id, #status",
            "ExpressionAttributeNames": {"#status": "status"},
            "ConsistentRead": True,
        }
        rows: list[dict[str, Any]] = client.batch_get_item(RequestItems={table: asked})["Responses"][table]
        return (row["id"]["S"] for row in rows if row["status"]["S"] == _DONE)

    return read


def main() -> None:
    watcher = Watcher(read=reader(sys.argv[1]), now_ms=lambda: time.time_ns() / 1e6)
    over = threading.Event()

    def listen() -> None:
        for line in sys.stdin:
            slot, id, due_ms = line.split()
            watcher.watch(slot, id, float(due_ms))
        over.set()

    threading.Thread(target=listen, daemon=True).start()
    print("ready", flush=True)
    began = time.process_time()
    while watcher.left or not over.is_set():
        watcher.look()
        time.sleep(watcher.rest_seconds())
    print(
        json.dumps(
            {
                "seen_ms": watcher.seen_ms,
                "looks_ms": watcher.looks_ms,
                "cpu_seconds": time.process_time() - began,
            }
        )
    )


if __name__ == "__main__":
    main()
