"""The game's receiver: notes each arrival, and behaves by path as the game has set it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cli.local.listening import Answering, listening

_HANGS_SECONDS: Final = 60


class Arrival(NamedTuple):
    task: str
    token: int


@dataclass(kw_only=True, slots=True)
class Receiver:
    """`answers` has the status of each path that is not well. `/hang-once` keeps the first call of each task waiting
    until its caller has gone."""

    url: str
    answers: dict[str, int] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)

    def count(self, tasks: list[str]) -> dict[str, int]:
        """The arrivals of each of these tasks."""
        known = list(self.arrivals)
        found = dict.fromkeys(tasks, 0)
        for arrival in known:
            if arrival.task in found:
                found[arrival.task] += 1
        return found


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver(url="")
    lock = threading.Lock()

    class Handler(Answering):
        def called(self) -> None:
            self.body()
            task = self.headers["Postdate-Task-Id"]
            with lock:
                receiver.arrivals.append(Arrival(task, int(self.headers["Postdate-Token"])))
                first = receiver.count([task])[task] == 1
            if self.path == "/hang-once" and first:
                self.wait_until_the_caller_has_gone(seconds=_HANGS_SECONDS)
            else:
                self.answer(receiver.answers.get(self.path, 204))

    with listening(Handler) as url:
        receiver.url = url
        yield receiver
