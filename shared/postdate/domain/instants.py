"""Instants are aware datetimes in UTC with whole milliseconds; minutes are counted from the epoch."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# No plan reaches further, and no request may name an instant outside.
FIRST = EPOCH
LAST = datetime(2200, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
_MILLISECOND = timedelta(milliseconds=1)


def whole(instant: datetime) -> datetime:
    """The same instant in UTC, its microseconds rounded up to a millisecond: never earlier than asked."""
    if instant.tzinfo is None:
        raise ValueError("an instant needs an offset")
    return from_milliseconds(-((EPOCH - instant) // _MILLISECOND))


def milliseconds(instant: datetime) -> int:
    return (instant - EPOCH) // _MILLISECOND


def from_milliseconds(count: int) -> datetime:
    return EPOCH + count * _MILLISECOND


def minute_of(instant: datetime) -> int:
    return (instant - EPOCH) // MINUTE


def start_of(minute: int) -> datetime:
    return EPOCH + minute * MINUTE


def end_of(minute: int) -> datetime:
    return start_of(minute + 1)
