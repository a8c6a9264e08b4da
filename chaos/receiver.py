"""The webhooks' other end: notes each arrival, and behaves as the path says: `/<temper>/<attempts it lasts>`.

fine    answers 204
slow    answers 204, late
500     answers 500
429     answers 429 with Retry-After
hang    answers nothing, until the caller has gone
reset   takes all of it, and resets the connection
word    answers 202; its word about the run comes later
"""

import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from chaos.seen import Arrival
from cli.local.listening import Answering, listening

HANGS_SECONDS: Final = 60
SLOW_SECONDS: Final = 1.5
RETRY_AFTER_SECONDS: Final = 2
MISBEHAVIOUR: Final = ("500", "429", "hang", "reset", "slow")
_RESET: Final = struct.pack("ii", 1, 0)
Acknowledge = Callable[[Arrival], None]


@dataclass(kw_only=True, slots=True)
class Receiver:
    """`tempers` counts how often it behaved in which way, `held` those that it keeps waiting just now."""

    url: str
    arrivals: list[Arrival] = field(default_factory=list)
    tempers: Counter[str] = field(default_factory=Counter)
    held: int = 0


@contextmanager
def receiving(acknowledge: Acknowledge) -> Iterator[Receiver]:
    receiver = Receiver(url="")
    lock = threading.Lock()

    class Handler(Answering):
        def called(self) -> None:
            at_ms = time.time_ns() / 1e6
            self.body()
            arrival = _arrival(self.headers, at_ms)
            _, temper, lasts = self.path.split("/")
            temper = temper if arrival.attempt <= int(lasts) else "fine"
            with lock:
                receiver.arrivals.append(arrival)
                receiver.tempers[temper] += 1
                receiver.held += 1
            try:
                self._behave(temper, arrival)
            finally:
                with lock:
                    receiver.held -= 1

        def _behave(self, temper: str, arrival: Arrival) -> None:
            match temper:
                case "500":
                    self.answer(500)
                case "429":
                    self.answer(429, Retry_After=str(RETRY_AFTER_SECONDS))
                case "hang":
                    self.wait_until_the_caller_has_gone(seconds=HANGS_SECONDS)
                case "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    self.close_connection = True
                    self.connection.close()
                case "slow":
                    time.sleep(SLOW_SECONDS)
                    self.answer(204)
                case "word":
                    self.answer(202)
                    acknowledge(arrival)
                case _:
                    self.answer(204)

    with listening(Handler) as url:
        receiver.url = url
        yield receiver


def _arrival(headers: Any, at_ms: float) -> Arrival:
    return Arrival(
        task=headers["Postdate-Task-Id"],
        run=headers["webhook-id"],
        key=headers["Idempotency-Key"],
        token=int(headers["Postdate-Token"]),
        attempt=int(headers["Postdate-Attempt"]),
        planned_at=headers["Postdate-Planned-At"],
        at_ms=at_ms,
    )
