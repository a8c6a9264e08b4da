"""Spreading: tasks of one instant start within a span after it, each at an instant that follows from its name."""

import hashlib
from datetime import datetime, timedelta
from typing import Final

SPREAD_SECONDS_MAX: Final = 3600
_MILLISECOND: Final = timedelta(milliseconds=1)


def spread(instant: datetime, *, seconds: int, name: str) -> datetime:
    """Returns an instant from `instant` on and less than `seconds` later. The same name gets the same instant."""
    span = timedelta(seconds=seconds) // _MILLISECOND
    if not span:
        return instant
    drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
    return instant + drawn % span * _MILLISECOND
