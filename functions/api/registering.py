"""Limits of registrations that operators set by parameters."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from functions.api.wiring import wired
from postdate.domain.errors import LimitExceeded, PostdateError


def refuse_large(batch: Sequence[object], *, field: str) -> None:
    """Raises LimitExceeded for a batch of too many items, before any of them is registered."""
    most = wired().parameters.values.registering.batch_max
    if len(batch) > most:
        raise LimitExceeded([(field, f"has more than {most} entries, the limit of this service at present")])


def too_far(instant: datetime, now: datetime, *, field: str) -> LimitExceeded | None:
    """Returns the refusal of an instant that is too many days ahead. A request that repeats an earlier one is answered
    as before, so the caller uses it for new items alone."""
    most = wired().parameters.values.registering.days_ahead_max
    if instant <= now + timedelta(days=most):
        return None
    return LimitExceeded([(field, f"is at most {most} days ahead, the limit of this service at present")])


def allowed(instant: datetime | PostdateError | None, now: datetime, *, field: str) -> datetime | None:
    """Returns the instant that a change asks for, None if it asks for none. Raises its error, or LimitExceeded."""
    if isinstance(instant, PostdateError):
        raise instant
    if instant is not None and (refusal := too_far(instant, now, field=field)) is not None:
        raise refusal
    return instant
