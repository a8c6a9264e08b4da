"""Workers that finish the invocation they are in, loaded into the engine itself.

When the code of a function changes, the engine ends all workers of the function at once, with what they hold. On AWS a
worker ends its invocation first. Here a worker that is busy is ended after it.
"""

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ministack.core import lambda_runtime

_End: TypeAlias = Callable[[list[Any]], None]


def patched() -> None:
    lambda_runtime.kill_workers = retiring(lambda_runtime.kill_workers)


def retiring(end: _End) -> Callable[[Iterable[Any]], None]:
    """Ends idle workers now, and each other one when its invocation ends. An invocation has its function's timeout, and
    a worker holds its own lock meanwhile."""

    def retire(workers: Iterable[Any]) -> None:
        idle: list[Any] = []
        busy: list[Any] = []
        for worker in workers:
            if worker is not None:
                (busy if worker._lock.locked() else idle).append(worker)
        for worker in busy:
            threading.Thread(target=end_after, args=(worker,), daemon=True).start()
        end(idle)

    def end_after(worker: Any) -> None:
        with worker._lock:
            end([worker])

    return retire
