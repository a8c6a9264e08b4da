"""A complete receiver of Postdate's webhooks.

    POST /work        answers when the work is done; for tasks with `ack: response`
    POST /long-work   answers at once and completes the run later; for tasks with `ack: explicit`

`work` is the place for your own code. It gets the connection of the transaction that also notes the run's key.
"""

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from examples.worker.api import Api
from examples.worker.signature import NotSigned, verify
from examples.worker.store import Seen, Store

BODY_BYTES_MAX: Final = 1024 * 1024
COMPLETE_TRIES: Final = 5
_STARTED: Final = {
    Seen.NEW: HTTPStatus.ACCEPTED,
    Seen.DONE: HTTPStatus.ACCEPTED,
    Seen.OVERTAKEN: HTTPStatus.CONFLICT,
}
_ENDED: Final = {
    Seen.NEW: HTTPStatus.NO_CONTENT,
    Seen.DONE: HTTPStatus.NO_CONTENT,
    Seen.OVERTAKEN: HTTPStatus.CONFLICT,
}


def work(payload: dict[str, Any], key: str, connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO orders VALUES (?, ?)", (key, json.dumps(payload)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Delivery:
    """One attempt of one run, verified."""

    key: str
    run_id: str
    token: int
    payload: dict[str, Any]


class Unusable(Exception):
    """No attempt of this run can ever succeed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Worker:
    """`heartbeat_seconds` is well below the `timeout_seconds` of the tasks that are sent to `/long-work`;
    `long_seconds` is what their work takes here."""

    secrets: Sequence[str]
    store: Store
    api: Api
    heartbeat_seconds: float = 10
    long_seconds: float = 15
    now: Callable[[], float] = time.time

    def receive(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str]]:
        """The status and the headers of the answer. The names of `headers` are in lower case."""
        try:
            verify(self.secrets, headers, body, now=self.now())
            delivery = _read(headers, body)
            match path:
                case "/work":
                    return _ENDED[self._finish(delivery)], {}
                case "/long-work":
                    return self._start(delivery), {}
                case _:
                    return HTTPStatus.NOT_FOUND, {}
        except NotSigned:
            # Retried: the secret here may be the wrong one.
            return HTTPStatus.UNAUTHORIZED, {}
        except Unusable:
            return HTTPStatus.UNPROCESSABLE_ENTITY, {}
        except sqlite3.OperationalError:
            return HTTPStatus.SERVICE_UNAVAILABLE, {"Retry-After": "5"}

    def _finish(self, delivery: Delivery) -> Seen:
        return self.store.finish(
            delivery.key, delivery.token, lambda connection: work(delivery.payload, delivery.key, connection)
        )

    def _start(self, delivery: Delivery) -> int:
        """A run that was done before is completed with the token of the newest attempt, and not done again."""
        seen = self.store.begin(delivery.key, delivery.token)
        if seen is not Seen.OVERTAKEN:
            carried_out = self._complete if seen is Seen.DONE else self._carry_out
            threading.Thread(target=carried_out, args=(delivery,), daemon=True).start()
        return _STARTED[seen]

    def _carry_out(self, delivery: Delivery) -> None:
        """Stops when Postdate says that the run is not ours any more; after a crash the next attempt begins anew."""
        ends_at = time.monotonic() + self.long_seconds
        while (left := ends_at - time.monotonic()) > 0:
            time.sleep(min(left, self.heartbeat_seconds))
            if self._tell("heartbeat", delivery) == HTTPStatus.CONFLICT:
                return
        if self._finish(delivery) is not Seen.OVERTAKEN:
            self._complete(delivery)

    def _complete(self, delivery: Delivery) -> None:
        """If no try gets through, the next attempt of the run finds its key and completes it."""
        for tried in range(COMPLETE_TRIES):
            if self._tell("complete", delivery) in (HTTPStatus.OK, HTTPStatus.CONFLICT):
                return
            time.sleep(2**tried / 4)

    def _tell(self, word: str, delivery: Delivery) -> int:
        return self.api.tell(word, run_id=delivery.run_id, token=delivery.token)


def _read(headers: Mapping[str, str], body: bytes) -> Delivery:
    """The headers are Postdate's once the signature is right, so only the payload may surprise."""
    try:
        payload = json.loads(body)
    except ValueError:
        raise Unusable from None
    if not isinstance(payload, dict):
        raise Unusable
    return Delivery(
        key=headers["idempotency-key"],
        run_id=headers["postdate-run-id"],
        token=int(headers["postdate-token"]),
        payload=payload,
    )


def server(worker: Worker, port: int) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            if length > BODY_BYTES_MAX:
                self.close_connection = True
                self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, {"Postdate-Retry": "never"})
                return
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._answer(*worker.receive(self.path, headers, self.rfile.read(length)))

        def _answer(self, status: int, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in ({"Content-Length": "0"} | dict(headers)).items():
                self.send_header(name, value)
            self.end_headers()

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)
