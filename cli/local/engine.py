"""The engine as a program of its own, run by the interpreter of its own environment: MiniStack, quicker.

What an answer is does not change. Rows hold nothing but what JSON has, so a plain copy of one is as good as Python's
general one, and the engine makes six of a row that it changes; what an expression says follows from its text, which it
would otherwise read anew for each row. Both together halve the time of a settlement. Its workers share what they run.
"""

import copy
import gc
import hashlib
import marshal
import os
import runpy
import tempfile
import threading
import zipfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from ministack.services import dynamodb, sqs

# Python's full garbage collections grow with the rows that the engine holds and stop all of it, 0.1 to 0.4 s each.
_COLLECTED_AFTER: Final = (5_000, 10, 100_000)
# A worker's start is half a second of one core: more at a time are all ready later.
_STARTS_AT_ONCE: Final = 2
_EXPRESSIONS: Final = 4096
_CHANGES_A_QUEUE: Final = (
    *("_collect_msgs", "_dlq_sweep", "_expire_retained"),
    *("_act_send_message", "_act_delete_message", "_act_delete_message_batch"),
)
# A worker inherits these of the engine's variables. The others steer the engine, and a function would take them for
# its own: Powertools, for instance, reads LOG_LEVEL.
_INHERITED: Final = frozenset({"GATEWAY_PORT", "HOME", "LANG", "PATH", "TMPDIR"})


def quickened() -> None:
    remembered = lru_cache(_EXPRESSIONS)(dynamodb._tokenize)
    dynamodb._tokenize = lambda text: list(remembered(text))
    dynamodb._condition_syntax_error = lru_cache(_EXPRESSIONS)(dynamodb._condition_syntax_error)
    dynamodb.copy = SimpleNamespace(deepcopy=copied)


def kept_whole() -> None:
    """Its event loop and the threads of its pollers exchange a queue's list of messages without a lock that both take:
    a worker that receives and deletes by itself would bring back what a poller deletes, or lose what is sent."""
    lock = sqs._queues_lock = threading.RLock()
    for name in _CHANGES_A_QUEUE:
        change = getattr(sqs, name)
        locked = _holding(lock, change)
        setattr(sqs, name, locked)
        sqs._HANDLERS.update({action: locked for action, made in sqs._HANDLERS.items() if made is change})


def _holding(lock: Any, change: Callable[..., Any]) -> Callable[..., Any]:
    def held(*given: Any) -> Any:
        with lock:
            return change(*given)

    return held


def copied(value: Any) -> Any:
    try:
        return marshal.loads(marshal.dumps(value))  # noqa: S302 - its own words of a moment ago
    except ValueError:
        return copy.deepcopy(value)


class Unpacked(zipfile.ZipFile):
    """The engine unpacks a function's code and its layer for each worker anew: here once, and then links to that."""

    _one_at_a_time: Final = threading.Lock()

    def extractall(self, path: Any = None, members: Any = None, pwd: bytes | None = None) -> None:
        whole = repr([(member.filename, member.CRC) for member in self.infolist()])
        shared = Path(tempfile.gettempdir()) / f"unpacked-{hashlib.sha256(whole.encode()).hexdigest()}"
        with self._one_at_a_time:
            if not shared.exists():
                begun = shared.with_suffix(".begun")
                super().extractall(begun, members, pwd)
                begun.rename(shared)
        os.rmdir(path)
        os.symlink(shared, path)


def inherited(engine: Mapping[str, str]) -> dict[str, str]:
    """The engine's variables that its workers get beside those of their function."""
    return {name: engine[name] for name in _INHERITED if name in engine}


def _started_in_turn() -> None:
    from ministack.core import lambda_runtime
    from ministack.core.lambda_runtime import Worker

    lambda_runtime.os = SimpleNamespace(**vars(os) | {"environ": inherited(os.environ)})
    lambda_runtime.zipfile = SimpleNamespace(**vars(zipfile) | {"ZipFile": Unpacked})
    start, turns = Worker._spawn, threading.Semaphore(_STARTS_AT_ONCE)

    def start_in_turn(worker: Worker) -> None:
        with turns:
            start(worker)

    Worker._spawn = start_in_turn


if __name__ == "__main__":
    gc.set_threshold(*_COLLECTED_AFTER)
    _started_in_turn()
    quickened()
    kept_whole()
    runpy.run_module("ministack", run_name="__main__", alter_sys=True)
