"""A web server on this machine, for as long as it is used: what tests and chaos have called."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

_CALLERS_WAITING_MAX: Final = 512


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.called()

    def do_POST(self) -> None:
        self.called()

    def called(self) -> None:
        """Handles one call; tests and chaos override it. The other method names are those of http.server."""
        self.answer(204)

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def answer(self, status: int, **headers: str) -> None:
        """Answers without a body. The argument `Retry_After` becomes the header Retry-After."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def wait_until_the_caller_has_gone(self, *, seconds: float) -> None:
        self.close_connection = True
        self.connection.settimeout(seconds)
        with suppress(OSError):
            self.rfile.read(1)

    def log_message(self, *_: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = _CALLERS_WAITING_MAX
    ending = False

    def serve(self) -> None:
        """Answers callers until `end`. `serve_forever` would notice its end only when it looks the next time."""
        while True:
            caller, address = self.get_request()
            if self.ending:
                caller.close()
                return
            self.process_request(caller, address)

    def end(self) -> None:
        self.ending = True
        socket.create_connection(self.socket.getsockname()).close()

    def handle_error(self, *_: Any) -> None:
        """Callers may be killed at any moment; what they get then is nobody's concern."""


@contextmanager
def listening(handler: type[Answering]) -> Iterator[str]:
    """Gives the address."""
    server = _Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.end()
        thread.join(5)
        server.server_close()
