"""Names to addresses in bounded time, with a bounded share of the threads for each tenant."""

import socket
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from time import monotonic
from typing import Any, TypeAlias

Addresses: TypeAlias = tuple[str, ...]


class Question:
    """One look-up: `started` ends when a thread takes it, `answer` when the system's resolver has answered."""

    # `started` ends when a thread takes the question, `answer` when the system's resolver has answered.
    def __init__(self, host: str) -> None:
        self.host = host
        self.started: Future[None] = Future()
        self.answer: Future[Addresses] = Future()
        self.answered_at = 0.0
        for future in (self.started, self.answer):
            # A caller that stops waiting must not cancel the answer for the others.
            future.set_running_or_notify_cancel()


class Resolver:
    """Asks the system's resolver, which takes no time limit, from threads of its own.

    An answer is kept for some seconds, and so is a failure: a burst to one receiver is one look-up. Callers that ask
    for a name while its look-up goes on share it. One tenant keeps at most `tenant_threads` threads busy; its
    further look-ups wait, and those of other tenants go first.
    """

    def __init__(
        self,
        lookup: Callable[..., list[Any]] = socket.getaddrinfo,
        *,
        keep_seconds: float = 5.0,
        keep_max: int = 1024,
        threads: int = 32,
        tenant_threads: int | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._lookup = lookup
        self._keep_seconds = keep_seconds
        self._keep_max = keep_max
        self._threads = threads
        self._tenant_threads = tenant_threads or threads
        self._clock = clock
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="resolve")
        self._kept: dict[str, Question] = {}
        self._waiting: OrderedDict[str, deque[Question]] = OrderedDict()
        self._busy: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, host: str, wait_seconds: float) -> Addresses:
        """Every address of `host`. Raises OSError for a name without one, TimeoutError when none came in time."""
        return self.ask(host).answer.result(timeout=wait_seconds)

    def ask(self, host: str, *, tenant: str = "") -> Question:
        """A look-up that is going on or over, or a new one. A waiting one is waited for on this tenant's share too."""
        with self._lock:
            question = self._kept.get(host)
            if question is None or self._is_old(question):
                # Questions that are under way still end: their callers hold them.
                if len(self._kept) >= self._keep_max:
                    self._kept.clear()
                question = self._kept[host] = Question(host)
            if not question.started.done():
                self._waiting.setdefault(tenant, deque()).append(question)
        self._start_waiting()
        return question

    def _is_old(self, question: Question) -> bool:
        return question.answer.done() and self._clock() - question.answered_at >= self._keep_seconds

    def _start_waiting(self) -> None:
        while next_one := self._next():
            question, tenant = next_one
            looking = self._pool.submit(self._looked_up, question.host)
            looking.add_done_callback(partial(self._answered, question, tenant))

    def _next(self) -> tuple[Question, str] | None:
        """The look-up that may start now, and on whose share. Tenants take turns; a look-up that several tenants wait
        for starts on the turn of the first."""
        with self._lock:
            for tenant in list(self._waiting):
                waiting = self._waiting[tenant]
                while waiting and waiting[0].started.done():
                    waiting.popleft()
                if not waiting:
                    del self._waiting[tenant]
                elif self._busy[tenant] < self._tenant_threads and self._busy.total() < self._threads:
                    # The next turn is another tenant's.
                    self._waiting.move_to_end(tenant)
                    self._busy[tenant] += 1
                    question = waiting.popleft()
                    question.started.set_result(None)
                    return question, tenant
        return None

    def _looked_up(self, host: str) -> Addresses:
        found = self._lookup(host, None, type=socket.SOCK_STREAM)
        return tuple(dict.fromkeys(entry[4][0] for entry in found))

    def _answered(self, question: Question, tenant: str, looking: Future[Addresses]) -> None:
        """Ends a look-up, gives the tenant its thread back, and starts those that waited for one."""
        question.answered_at = self._clock()
        if error := looking.exception():
            question.answer.set_exception(error)
        else:
            question.answer.set_result(looking.result())
        with self._lock:
            self._busy[tenant] -= 1
            # Removes tenants without a busy thread.
            self._busy += Counter()
        self._start_waiting()
