"""Real receivers on 127.0.0.1, each a few lines of how it misbehaves."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from queue import SimpleQueue
from typing import Any

import pytest

from postdate.domain.task import Destination
from postdate.targets.base import Delivery, Receipt
from postdate.targets.connections import Connections
from postdate.targets.guard import parse
from postdate.targets.loop import BackgroundLoop
from postdate.targets.resolver import Resolver
from postdate.targets.webhook import WebhookTarget

NOW = datetime(2026, 11, 18, 10, 5, 0, 250_000, tzinfo=UTC)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Inline:
    """An executor that runs each piece of work on the spot."""

    def submit(self, function: Callable[..., object], *args: object) -> None:
        function(*args)


class Receiver:
    """Reads request after request and lets `answer` do what it wants with the socket; False ends the connection."""

    def __init__(
        self, answer: Callable[[socket.socket], bool | None], tls: ssl.SSLContext | None = None
    ) -> None:
        self._answer = answer
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[tuple[bytes, bytes]] = []
        self.connections = 0
        self.faults: list[Exception] = []
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?a=1"

    def headers(self, index: int = -1) -> dict[str, str]:
        lines = self.requests[index][0].decode().split("\r\n")[1:]
        return dict(line.split(": ", 1) for line in lines)

    def body(self, index: int = -1) -> bytes:
        return self.requests[index][1]

    def close(self) -> None:
        with suppress(OSError):  # closed before
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in self._open:
            sock.close()
        for thread in self._threads:
            thread.join(1)

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._serve, args=(sock,), daemon=True))
            self._threads[-1].start()

    def _serve(self, sock: socket.socket) -> None:
        try:
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            self._open.append(sock)
            while request := _read_request(sock):
                self.requests.append(request)
                if self._answer(sock) is False:
                    break
        except OSError as fault:
            self.faults.append(fault)
        finally:
            sock.close()


def _read_request(sock: socket.socket) -> tuple[bytes, bytes] | None:
    received = b""
    while b"\r\n\r\n" not in received:
        part = sock.recv(65536)
        if not part:
            return None
        received += part
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(
        int(line[16:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length: ")
    )
    while len(body) < length:
        body += sock.recv(65536)
    return head, body


@pytest.fixture
def receiver() -> Iterator[Callable[..., Receiver]]:
    """Starts a receiver that answers with these bytes, or as this function does."""
    started: list[Receiver] = []

    def start(answer: bytes | Callable[[socket.socket], bool | None] = OK, **options: Any) -> Receiver:
        if isinstance(answer, bytes):
            reply = answer
            started.append(Receiver(lambda sock: sock.sendall(reply), **options))
        else:
            started.append(Receiver(answer, **options))
        return started[-1]

    yield start
    for one in started:
        one.close()


@pytest.fixture
def webhook() -> Iterator[Callable[..., WebhookTarget]]:
    """A target that may call loopback, with the times of a test; what it does not know is for its connections."""
    made: list[WebhookTarget] = []

    def make(
        *,
        tls: ssl.SSLContext | None = None,
        endpoint: Any = None,
        resolver: Resolver | None = None,
        drain_seconds: float = 0.05,
        queued_seconds: float = 1,
        name_seconds: float = 1,
        **limits: Any,
    ) -> WebhookTarget:
        made.append(
            WebhookTarget(
                endpoint=endpoint or (lambda url: parse(url, True)),
                resolver=resolver or Resolver(),
                connections=Connections(tls or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), **limits),
                loop=BackgroundLoop(),
                now=lambda: NOW,
                drain_seconds=drain_seconds,
                queued_seconds=queued_seconds,
                name_seconds=name_seconds,
            )
        )
        return made[-1]

    yield make
    for target in made:
        target.close()


def _delivery(address: str = "", **fields: Any) -> Delivery:
    to = {"type": "webhook", "method": "POST", "headers": (), "detail_type": ""}
    to |= {name: fields.pop(name) for name in tuple(fields) if name in to}
    defaults: dict[str, Any] = {
        "run_id": "run-1",
        "task_id": "task-1",
        "tenant": "demo",
        "attempt": 2,
        "token": 7,
        "planned_at": NOW,
        "timeout_seconds": 2.0,
        "payload": b'{"n":1}',
    }
    return Delivery(destination=Destination(address=address, **to), **(defaults | fields))


@pytest.fixture
def clock() -> Callable[[], datetime]:
    return lambda: NOW


@pytest.fixture
def delivery() -> Callable[..., Delivery]:
    return _delivery


def _deliver(target: Any, *deliveries: Delivery) -> list[Receipt]:
    """The receipts, in the order of the deliveries."""
    inbox: SimpleQueue[tuple[Delivery, Receipt]] = SimpleQueue()
    target.start(deliveries, lambda *report: inbox.put(report))
    came = [inbox.get(timeout=5) for _ in deliveries]
    return [next(receipt for landed, receipt in came if landed is delivery) for delivery in deliveries]


@pytest.fixture
def deliver(webhook: Callable[..., WebhookTarget]) -> Callable[..., Any]:
    """`deliver(url, **fields)`: one receipt from a new target; `deliver.all(target, *deliveries)`: theirs."""

    def one(address: str, **fields: Any) -> Receipt:
        return _deliver(webhook(), _delivery(address, **fields))[0]

    one.all = _deliver  # type: ignore[attr-defined]
    return one
