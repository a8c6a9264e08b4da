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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from cli.chaos.seen import Arrival

HANGS_SECONDS: Final = 60
SLOW_SECONDS: Final = 1.5
RETRY_AFTER_SECONDS: Final = 2
_ASKED_TO_END_EVERY_SECONDS: Final = 0.05
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

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            at_ms = time.time_ns() / 1e6
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
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
                    self._answer(500)
                case "429":
                    self._answer(429, retry_after=RETRY_AFTER_SECONDS)
                case "hang":
                    self._wait_until_the_caller_has_gone()
                case "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                    self.close_connection = True
                    self.connection.close()
                case "slow":
                    time.sleep(SLOW_SECONDS)
                    self._answer(204)
                case "word":
                    self._answer(202)
                    acknowledge(arrival)
                case _:
                    self._answer(204)

        def _answer(self, status: int, *, retry_after: int | None = None) -> None:
            self.send_response(status)
            if retry_after is not None:
                self.send_header("Retry-After", str(retry_after))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def _wait_until_the_caller_has_gone(self) -> None:
            self.close_connection = True
            self.connection.settimeout(HANGS_SECONDS)
            with suppress(OSError):
                self.rfile.read(1)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 256

        def handle_error(self, *_: Any) -> None:
            """Callers that are killed are what this is about."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(_ASKED_TO_END_EVERY_SECONDS,), daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


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
