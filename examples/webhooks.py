"""A receiver of webhooks in a thread: every request is verified before the application sees it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from postdate_client import webhooks


@contextmanager
def receiving(secrets: list[str], receive: Callable[[str, dict[str, Any]], None]) -> Iterator[str]:
    """The receiver's URL. `receive` gets the run's id, the same for all attempts, and the payload; if it raises,
    another attempt follows."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                receive(webhooks.verify(body, dict(self.headers), secrets), json.loads(body))
                status = 204
            except webhooks.Refused:
                status = 401
            except Exception:
                status = 503
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
