"""A webhook receiver that notes when each call came; `python -m bench.receiver` runs it.

It answers 204, and 503 while it is down. To a call of `/hangs` it never answers.

A process of its own: in the generator's it would wait for the generator's lock, and that would count as lateness. It
prints its port and ends when its standard input does, so it never outlives who started it.
"""

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass, field
from typing import Final

PATH: Final = "/arrivals"
HANGS: Final = "/hangs"
DOWN: Final = "/down"
UP: Final = "/up"
ID_HEADER: Final = "Postdate-Task-Id"

_ID: Final = re.compile(rb"\r\n" + ID_HEADER.encode() + rb": *([^\r]*)", re.IGNORECASE)
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)
_HEAD_END: Final = b"\r\n\r\n"
_NOTED: Final = b"HTTP/1.1 204 No Content\r\n\r\n"
_FAILED: Final = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
_HANGING: Final = f"POST {HANGS} ".encode()
_GOES_DOWN: Final = f"PUT {DOWN} ".encode()
_BACKLOG: Final = 1024


@dataclass(kw_only=True, slots=True)
class Memory:
    """State that all connections share: the calls so far, each with its id and its milliseconds since the epoch."""

    noted: list[tuple[str, float]] = field(default_factory=list)
    is_down: bool = False


class Calls(asyncio.Protocol):
    """POST is a call, GET tells all calls so far, DELETE forgets them, PUT of `/down` or `/up` sets how calls are
    answered."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._received = bytearray()
        self._began_ms = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 (a server's are)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if not self._received:
            self._began_ms = time.time_ns() / 1e6
        self._received += data
        while (end := self._received.find(_HEAD_END)) >= 0:
            head = bytes(self._received[: end + 2])
            length = _LENGTH.search(head)
            whole = end + len(_HEAD_END) + (int(length[1]) if length else 0)
            if len(self._received) < whole:
                return
            del self._received[:whole]
            self._transport.write(self._answer(head))

    def _answer(self, head: bytes) -> bytes:
        if head.startswith(b"GET"):
            told = json.dumps(self._memory.noted).encode()
            return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
                len(told),
                told,
            )
        if head.startswith(b"DELETE"):
            self._memory.noted.clear()
        elif head.startswith(b"PUT"):
            self._memory.is_down = head.startswith(_GOES_DOWN)
        elif named := _ID.search(head):
            self._memory.noted.append((named[1].decode(), self._began_ms))
            if head.startswith(_HANGING):
                return b""
            return _FAILED if self._memory.is_down else _NOTED
        return _NOTED


async def serve() -> None:
    loop, over, memory = asyncio.get_running_loop(), asyncio.Event(), Memory()
    server = await loop.create_server(lambda: Calls(memory), "127.0.0.1", 0, backlog=_BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    loop.add_reader(sys.stdin, over.set)
    await over.wait()
    server.close()


if __name__ == "__main__":
    asyncio.run(serve())
