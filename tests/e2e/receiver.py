"""A webhook receiver: real sockets, every arrival noted with its instant, answers scripted by path."""

import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from cli.local.listening import Answering, listening

HANGS_SECONDS: Final = 120
ASKED_SECONDS: Final = 3
TEMPERS: Final = (
    ("fails", 0.3),
    ("hangs", 0.35),
    ("asks to wait", 0.45),
    ("takes and resets", 0.5),
    ("is well", 1.1),
)


@dataclass(frozen=True, kw_only=True)
class Arrival:
    at: float
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def task_id(self) -> str:
        return self.headers["postdate-task-id"]


@dataclass(kw_only=True)
class Receiver:
    """`/status/<n>` answers n, `/redirect?to` sends elsewhere, `/hangs` keeps each caller waiting until that has hung
    up, `/hang-once` only its first, and `/tempers` answers each attempt as `temper_of` says. While it `is_down`, every
    path answers 503; while it `refuses`, 422."""

    url: str
    arrivals: list[Arrival] = field(default_factory=list)
    is_down: bool = False
    refuses: bool = False

    def of(self, task_id: str) -> list[Arrival]:
        return [arrival for arrival in self.arrivals if arrival.task_id == task_id]

    def wait_for(self, task_id: str, count: int = 1, *, seconds: float = 20) -> list[Arrival]:
        deadline = time.monotonic() + seconds
        while len(found := self.of(task_id)) < count and time.monotonic() < deadline:
            time.sleep(0.05)
        return found


def temper_of(task_id: str, attempt: int) -> str:
    """Drawn for each attempt, and drawn again the same."""
    draw = random.Random(f"{task_id} {attempt}").random()
    return next(temper for temper, below in TEMPERS if draw < below)


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver(url="")

    class Handler(Answering):
        def called(self) -> None:
            at = time.time()
            body = self.body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            arrival = Arrival(at=at, path=self.path, headers=headers, body=body)
            receiver.arrivals.append(arrival)
            self._behave(arrival)

        def _behave(self, arrival: Arrival) -> None:
            path, _, rest = self.path.partition("?")
            match self._temper(path, arrival):
                case "hangs":
                    self.wait_until_the_caller_has_gone(seconds=HANGS_SECONDS)
                case "takes and resets":
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                case "fails":
                    self.answer(500)
                case "is down":
                    self.answer(503)
                case "refuses":
                    self.answer(422)
                case "asks to wait":
                    self.answer(429, Retry_After=str(ASKED_SECONDS))
                case _ if path == "/redirect":
                    self.answer(307, Location=rest)
                case _:
                    self.answer(int(path.removeprefix("/status/")) if path.startswith("/status/") else 204)

        def _temper(self, path: str, arrival: Arrival) -> str:
            if receiver.is_down:
                return "is down"
            if receiver.refuses:
                return "refuses"
            if path == "/hangs":
                return "hangs"
            if path == "/hang-once" and len(receiver.of(arrival.task_id)) == 1:
                return "hangs"
            if path == "/tempers":
                return temper_of(arrival.task_id, int(arrival.headers["postdate-attempt"]))
            return "is well"

    with listening(Handler) as url:
        receiver.url = url
        yield receiver
