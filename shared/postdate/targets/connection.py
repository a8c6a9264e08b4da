"""One connection: bytes out, at most 16 KB in."""

import asyncio
import select
import ssl
from typing import Final, TypeAlias, cast

BYTES_MAX: Final = 16 * 1024
Key: TypeAlias = tuple[str, str, int, str]


class AnswerBroken(Exception):
    """The destination's answer is not HTTP, or is too long."""


class Unanswered(ConnectionError):
    """The connection ended before the first byte of an answer."""


class Connection(asyncio.BufferedProtocol):
    """Receives into a buffer that is also the limit: no more is ever read, and what is packed stays packed."""

    _transport: asyncio.Transport

    def __init__(self, key: Key) -> None:
        self.key = key
        self.received = bytearray(BYTES_MAX)
        self.count = 0
        self._lost = False
        self._error: Exception | None = None
        self._news: asyncio.Future[None] | None = None

    def send(self, request: bytes) -> None:
        self.count = 0
        self._transport.write(request)

    async def more(self) -> None:
        """Waits until more has come in, or the end."""
        if self.count == BYTES_MAX:
            raise AnswerBroken("the answer is too long")
        if isinstance(self._error, ssl.SSLError):
            raise self._error
        if self._lost:
            raise AnswerBroken("the answer ended early") if self.count else Unanswered
        self._news = asyncio.get_running_loop().create_future()
        await self._news

    def rest(self) -> None:
        """Between two requests: what comes in now answers no request."""
        self.count = 0

    def is_usable(self) -> bool:
        """Neither closed nor written to since it is idle, by what the loop has seen and by what the socket knows."""
        if self._lost or self.count or self._transport.is_closing():
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket"), select.POLLIN)
        return not poll.poll(0)

    def abort(self) -> None:
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self.received)[self.count :]

    def buffer_updated(self, nbytes: int) -> None:
        self.count += nbytes
        if self.count == BYTES_MAX:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost, self._error = True, exc
        self._wake()

    def _wake(self) -> None:
        if self._news and not self._news.done():
            self._news.set_result(None)
