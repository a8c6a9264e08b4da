"""Names to addresses in bounded time."""

import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic
from typing import Any


class Resolver:
    """Asks the system's resolver, which knows no time limit, from threads of its own; a dead name server holds one up.

    An answer is kept a few seconds, so a burst to one receiver is one question; callers that ask for a name while
    its question is open share it. A failure is not kept.
    """

    def __init__(
        self,
        lookup: Callable[..., list[Any]] = socket.getaddrinfo,
        *,
        keep_seconds: float = 5.0,
        keep_max: int = 1024,
        threads: int = 32,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._lookup = lookup
        self._keep_seconds = keep_seconds
        self._keep_max = keep_max
        self._clock = clock
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="resolve")
        self._kept: dict[str, tuple[float, Future[tuple[str, ...]]]] = {}
        self._lock = threading.Lock()

    def __call__(self, host: str, wait_seconds: float) -> tuple[str, ...]:
        """Every address of `host`. Raises OSError for a name without one, TimeoutError when none came in time."""
        return self._asked(host).result(timeout=wait_seconds)

    def _asked(self, host: str) -> Future[tuple[str, ...]]:
        now = self._clock()
        with self._lock:
            asked_at, question = self._kept.get(host, (0.0, None))
            if question is not None and now - asked_at < self._keep_seconds and not _is_failed(question):
                return question
            if len(self._kept) >= self._keep_max:
                self._kept.clear()
            question = self._pool.submit(self._ask, host)
            self._kept[host] = (now, question)
            return question

    def _ask(self, host: str) -> tuple[str, ...]:
        found = self._lookup(host, None, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(entry[4][0] for entry in found))


def _is_failed(question: Future[tuple[str, ...]]) -> bool:
    return question.done() and question.exception() is not None
