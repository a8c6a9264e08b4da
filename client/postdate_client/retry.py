"""The rules of repetition: which requests are sent again, and after how long.

A request is repeated only if repeating it changes nothing: a read, a request with an idempotency key, or one that the
API names as harmless to repeat (cancels, changes without a version).
"""

from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Final

RETRIED: Final = frozenset({429, 500, 502, 503, 504})
IN_PROGRESS: Final = "idempotency_in_progress"


@dataclass(frozen=True, kw_only=True, slots=True)
class Retry:
    """`attempts` counts the first one. A pause is drawn between half and all of a bound that doubles from
    `initial_seconds` to `max_seconds`; a longer `Retry-After` of the API is obeyed."""

    attempts: int = 5
    initial_seconds: float = 0.2
    max_seconds: float = 20.0

    def pause(self, attempt: int, *, draw: float, asked: float | None) -> float:
        """Seconds to wait after that attempt, the first being 1. `draw` is from 0 to 1."""
        bound = min(self.initial_seconds * 2.0 ** min(attempt - 1, 30), self.max_seconds)
        return max(bound * (0.5 + draw / 2), asked or 0.0)


def is_temporary(status: int, code: str) -> bool:
    """True for an answer that the same request may not get again."""
    return status in RETRIED or code == IN_PROGRESS


def asked_seconds(retry_after: str | None, now: datetime) -> float | None:
    """The pause that `Retry-After` asks for: seconds, or an HTTP date. None if there is none or it is unreadable."""
    if retry_after is None:
        return None
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max((parsedate_to_datetime(retry_after) - now).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None
