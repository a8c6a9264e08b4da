"""The retry policy: the number of attempts, and the pause after each failure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants

ATTEMPTS_MAX: Final = 50
# The multiplier to the power of many attempts would overflow.
_EXPONENT_MAX: Final = 64
_PUT_OFF_SECONDS: Final = 2.0
_PUT_OFF_SECONDS_MAX: Final = 16.0


def put_off_seconds(late_seconds: float, draw: float) -> float:
    """The pause before a throttled claim is tried again; `draw` is a random number in [0, 1).

    It is drawn up to half of the lateness, so it grows with each try and no message has to count the tries."""
    return min(max(_PUT_OFF_SECONDS, draw * late_seconds / 2), _PUT_OFF_SECONDS_MAX)


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """Exponential backoff between `initial_seconds` and `max_seconds`.

    With jitter the delay is drawn evenly from the whole range up to the backoff, never below the initial delay,
    so that what failed together does not come back together.

    The default outlasts a receiver's outage of a day: 30 attempts span 29.9 hours in the mean, nine of them within the
    first hour (docs/retries.md has the curve). Stored rows do not depend on it: see `stores/task_row.py`.
    """

    # The number of attempts, the first one included.
    max_attempts: int = 30
    # The first delay, and the least one with jitter.
    initial_seconds: float = 5.0
    # The factor between one delay and the next.
    multiplier: float = 2.0
    # The greatest delay.
    max_seconds: float = 10_800.0
    # True if the delay is drawn at random up to the backoff.
    jitter: bool = True

    def next_attempt_at(
        self, *, attempts: int, now: datetime, draw: float, asked_seconds: float | None = None
    ) -> datetime | None:
        """The instant of the next attempt, or None when all are used up; `draw` is a random number in [0, 1)."""
        if attempts >= self.max_attempts:
            return None
        delay = self._delay_seconds(attempts, draw)
        # A destination may ask for a longer wait than the policy's, but not beyond its greatest delay.
        if asked_seconds is not None:
            delay = max(delay, min(asked_seconds, self.max_seconds))
        return instants.whole(now + timedelta(seconds=delay))

    def _delay_seconds(self, attempts: int, draw: float) -> float:
        # With jitter the delay is about half of the ceiling, so the ceiling is one step ahead.
        exponent = min(attempts if self.jitter else attempts - 1, _EXPONENT_MAX)
        ceiling = min(self.max_seconds, self.initial_seconds * self.multiplier**exponent)
        floor = min(self.initial_seconds, self.max_seconds)
        return floor + draw * (ceiling - floor) if self.jitter else ceiling
