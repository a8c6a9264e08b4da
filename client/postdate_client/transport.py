"""The transport: HTTP of the standard library, over connections that stay open."""

import http.client
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol
from urllib.parse import urlsplit

from postdate_client.errors import ConnectionFailed

IDLE_SECONDS: Final = 20.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """`headers` by lower-case name."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Transport(Protocol):
    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        """Sends once. Raises ConnectionFailed if no answer came."""
        ...

    def close(self) -> None: ...


class HttpTransport:
    """Sends nothing twice: a connection that failed is closed, and the caller decides what to repeat. Idle connections
    are shared by all threads, and closed before a server would close them."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            raise ValueError(f"{url!r} is not the URL of an API")
        self._place, self._base = parts.netloc, parts.path.rstrip("/")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []
        self._lock = threading.Lock()

    def send(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float
    ) -> Answer:
        connection = self._taken(timeout)
        try:
            connection.request(method, self._base + path, body=body, headers=dict(headers))
            response = connection.getresponse()
            content = response.read()
        except BaseException as error:
            connection.close()
            if isinstance(error, (OSError, http.client.HTTPException)):
                raise ConnectionFailed(f"{method} {path}: {error or type(error).__name__}") from error
            raise
        with self._lock:
            self._idle.append((time.monotonic(), connection))
        return Answer(
            status=response.status,
            headers={name.lower(): value for name, value in response.getheaders()},
            body=content,
        )

    def close(self) -> None:
        with self._lock:
            for _, connection in self._idle:
                connection.close()
            self._idle.clear()

    def _taken(self, timeout: float) -> http.client.HTTPConnection:
        oldest = time.monotonic() - IDLE_SECONDS
        with self._lock:
            for used_at, connection in self._idle:
                if used_at < oldest:
                    connection.close()
            self._idle = [each for each in self._idle if each[0] >= oldest]
            connection = self._idle.pop()[1] if self._idle else self._kind(self._place)
        connection.timeout = timeout
        if connection.sock is not None:
            connection.sock.settimeout(timeout)
        return connection
