"""Time zones of our own making: two versions of a zone are two versions of the time-zone database."""

import io
import struct
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

_SECOND: Final = timedelta(seconds=1)


def zone(key: str, first: timedelta, *changes: tuple[datetime, timedelta]) -> ZoneInfo:
    """A zone whose clocks are `first` ahead of UTC, and from each of these instants on as far as that change says."""
    return ZoneInfo.from_file(io.BytesIO(_tzif([first, *(ahead for _, ahead in changes)], changes)), key=key)


def _tzif(offsets: list[timedelta], changes: tuple[tuple[datetime, timedelta], ...]) -> bytes:
    """A file of version 2 (RFC 9636): an empty block of version 1, the block, and no rule for what comes after it."""
    name = b"SIM\0"
    kinds = b"".join(struct.pack(">lBB", offset // _SECOND, 0, 0) for offset in offsets)
    times = b"".join(struct.pack(">q", int(at.timestamp())) for at, _ in changes)
    empty = _header(0, 1) + struct.pack(">lBB", 0, 0, 0) + name
    body = _header(len(changes), len(offsets)) + times + bytes(range(1, len(changes) + 1)) + kinds + name
    return empty + body + b"\n\n"


def _header(times: int, kinds: int) -> bytes:
    return b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, times, kinds, 4)
