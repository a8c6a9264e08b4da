"""One HTTP/1.1 request on an open connection, and what is worth knowing of its answer.

Written out instead of urllib3, whose read timeout starts anew with every byte, so that a receiver that drips holds a
worker for hours, and with which a delivery takes several times the CPU (docs/decisions/0004-webhook-guard.md).
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from postdate.targets.connection import BYTES_MAX, AnswerBroken, Connection

_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS: Final = re.compile(r"HTTP/1\.([01]) ([1-5][0-9]{2})(?: .*)?")
_LENGTH: Final = re.compile(r"[0-9]{1,5}")
_CHUNK: Final = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\r\n]*)?\r\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The head of an answer."""

    # The status code.
    status: int
    # True if the connection may serve another call.
    keeps_alive: bool
    # The headers, with names in lower case.
    headers: Mapping[str, str]
    # The position of its end among the bytes received.
    ends: int

    @property
    def is_interim(self) -> bool:
        return self.status < 200 and self.status != 101


async def exchange(connection: Connection, request: bytes) -> Head:
    """The head of the answer: it decides, whatever becomes of the body."""
    connection.send(request)
    head = await _head(connection, 0)
    while head.is_interim:
        head = await _head(connection, head.ends)
    return head


async def drain(connection: Connection, head: Head, *, wait_seconds: float) -> bool:
    """Reads the body and throws it away. Returns True if the connection may serve another request.

    A body that is long, late or of unknown length is not worth it.
    """
    if not head.keeps_alive:
        return False
    if (end := _body_end(connection, head)) is None:
        try:
            async with asyncio.timeout(wait_seconds):
                while (end := _body_end(connection, head)) is None:
                    await connection.more()
        except (OSError, AnswerBroken):
            return False
    return end == connection.count


async def _head(connection: Connection, start: int) -> Head:
    searched = start
    while not (end := _HEAD_END.search(connection.received, searched, connection.count)):
        searched = max(start, connection.count - 3)
        await connection.more()
    first, *lines = connection.received[start : end.start()].decode("latin-1").split("\n")
    status = _STATUS.fullmatch(first.rstrip("\r"))
    if not status:
        raise AnswerBroken("the answer is not HTTP")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    keeps_alive = (
        status[1] == "1" and status[2] != "101" and "close" not in headers.get("connection", "").lower()
    )
    return Head(status=int(status[2]), keeps_alive=keeps_alive, headers=headers, ends=end.end())


def _body_end(connection: Connection, head: Head) -> int | None:
    """Position of the body's end; None while it has not arrived; -1 if it is unknown or beyond the limit."""
    length, coding = head.headers.get("content-length"), head.headers.get("transfer-encoding")
    if head.status in (204, 304):
        return head.ends
    if coding is not None:
        return _chunks_end(connection, head.ends) if coding.lower() == "chunked" and length is None else -1
    if length is None or not _LENGTH.fullmatch(length) or head.ends + int(length) > BYTES_MAX:
        return -1
    end = head.ends + int(length)
    return end if end <= connection.count else None


def _chunks_end(connection: Connection, at: int) -> int | None:
    while chunk := _CHUNK.match(connection.received, at, connection.count):
        at = chunk.end() + int(chunk[1], 16) + 2
        if at == chunk.end() + 2:
            return _last(connection, at)
    return None


def _last(connection: Connection, end: int) -> int | None:
    """Trailers are rare, and not worth reading on for."""
    if end > connection.count:
        return None
    return end if connection.received[end - 2 : end] == b"\r\n" else -1
