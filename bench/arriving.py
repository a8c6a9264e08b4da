"""Waiting for what should arrive, and for what should not."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from bench.destinations import Destination
from bench.outcome import Outcome, outcome

_LOOK_EVERY_SECONDS: Final = 0.25
_SECOND_CALLS_SECONDS: Final = 1.0


def awaited(destination: Destination, count: int, due_at: datetime, patience_seconds: float) -> bool:
    """Looks from the instant on, now and then: whoever looks takes from the engine what it needs for its work."""
    deadline = due_at.timestamp() + patience_seconds
    time.sleep(max(0.0, (due_at - datetime.now(UTC)).total_seconds()))
    while destination.count() < count:
        if time.time() > deadline:
            return False
        time.sleep(_LOOK_EVERY_SECONDS)
    return True


def judged(
    destination: Destination, due_ms: Mapping[str, float], last_due_at: datetime, patience_seconds: float
) -> Outcome:
    """Returns the outcome after all deliveries came, or patience ended, and after second deliveries had time to
    come."""
    awaited(destination, len(due_ms), last_due_at, patience_seconds)
    time.sleep(_SECOND_CALLS_SECONDS)
    return outcome(due_ms, destination.arrivals())
