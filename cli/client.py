"""The HTTP API from Python: one connection, one thread, the standard library."""

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import urlsplit

from cli.failure import Failure

IDLE_SECONDS: Final = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """`headers` by lower-case name; `body` is the parsed JSON, or the text of anything else."""

    status: int
    headers: dict[str, str]
    body: Any

    def expect(self, *statuses: int) -> Any:
        if self.status not in statuses:
            raise Failure(f"The API answered {self.status}: {self.body}")
        return self.body


class Client:
    def __init__(self, url: str, key: str | None = None, *, timeout_seconds: float = 30) -> None:
        parts = urlsplit(url)
        self._base = parts.path.rstrip("/")
        connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connection(parts.netloc, timeout=timeout_seconds)
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._used_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.send("GET", path, headers=headers)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        return self.send("POST", path, json.dumps(body).encode(), headers)

    def patch(self, path: str, body: object, **headers: str) -> Answer:
        return self.send("PATCH", path, json.dumps(body).encode(), headers)

    def delete(self, path: str, **headers: str) -> Answer:
        return self.send("DELETE", path, headers=headers)

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Sends one request, never twice: a connection that the server may have closed is opened again first.

        A header's name may be written as an identifier: `idempotency_key` is `Idempotency-Key`.
        """
        if time.monotonic() - self._used_at > IDLE_SECONDS:
            self._connection.close()
        sent = {"Content-Type": "application/json"} if body is not None else {}
        sent |= self._headers | {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        try:
            self._connection.request(method, self._base + path, body=body, headers=sent)
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        self._used_at = time.monotonic()
        return Answer(
            status=response.status,
            headers={name.lower(): value for name, value in response.getheaders()},
            body=_parsed(text, response.headers.get_content_type()),
        )


def _parsed(text: bytes, content_type: str) -> Any:
    return json.loads(text) if content_type.endswith("json") and text else text.decode(errors="replace")
