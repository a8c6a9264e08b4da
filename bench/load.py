"""Calls made side by side by a few threads, each with what it opened for itself, and how long each call took."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar

ItemT = TypeVar("ItemT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran(Generic[AnswerT]):
    """`answers` and `took_ms` in the order in which the calls ended; `seconds` from the first call to the last end."""

    seconds: float
    took_ms: list[float]
    answers: list[AnswerT]

    @property
    def per_second(self) -> float:
        return len(self.answers) / self.seconds


def side_by_side(
    threads: int, items: Iterable[ItemT], caller: Callable[[ExitStack], Callable[[ItemT], AnswerT]]
) -> Ran[AnswerT]:
    """Each thread takes the next item when it is free. The first call that raises, or Ctrl-C, stops all of them."""
    waiting, lock, stopped = iter(items), threading.Lock(), threading.Event()
    ended: list[tuple[float, AnswerT]] = []

    def work() -> None:
        with ExitStack() as opened:
            call = caller(opened)
            while not stopped.is_set():
                with lock:
                    item = next(waiting, _END)
                if isinstance(item, _End):
                    return
                began = time.perf_counter()
                answer = call(item)
                ended.append((1000 * (time.perf_counter() - began), answer))

    began = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for each in [pool.submit(work) for _ in range(threads)]:
                each.result()
        finally:
            stopped.set()
    seconds = time.perf_counter() - began
    return Ran(seconds=seconds, took_ms=[ms for ms, _ in ended], answers=[answer for _, answer in ended])


class _End:
    pass


_END = _End()
