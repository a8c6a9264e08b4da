"""Meaning of an HTTP answer for a delivery."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from postdate.targets.answer import Head
from postdate.targets.base import Delivered, Failed, Receipt

# 410 Gone and 422 Unprocessable Content: the receiver will never take this call.
_FINAL: Final = frozenset({410, 422})
# More digits are no wait that anybody means.
_DIGITS_MAX: Final = 9


def verdict(head: Head, *, now: datetime) -> Receipt:
    """2xx is success, whatever else it says; 410, 422 and `Postdate-Retry: never` are final; the rest may pass."""
    status = head.status
    if 200 <= status < 300:
        return Delivered(http_status=status)
    never = "never" in head.headers.get("postdate-retry", "").lower().replace(",", " ").split()
    return Failed(
        reason="redirect refused" if 300 <= status < 400 else f"http {status}",
        retry=not never and status not in _FINAL,
        retry_after_seconds=retry_after_seconds(head.headers.get("retry-after"), now=now),
        http_status=status,
        down=status >= 500,
    )


def retry_after_seconds(value: str | None, *, now: datetime) -> float | None:
    """Reads a Retry-After header in seconds or as an HTTP date; 0 for a date in the past. None for any other text."""
    if not value:
        return None
    if value.isascii() and value.isdigit():
        return float(value) if len(value) <= _DIGITS_MAX else None
    try:
        at = parsedate_to_datetime(value)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return max(0.0, (at - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
