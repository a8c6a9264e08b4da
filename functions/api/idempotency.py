"""What an Idempotency-Key stands for: a new item, or the one an earlier request with it made."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.errors import IdempotencyInProgress, IdempotencyKeyReused, PostdateError
from postdate.stores.idempotency import Reservation, Reservations

_REQUEST_LIVES: Final = timedelta(seconds=30)


def stands_for(
    reservations: Reservations, wanted: Reservation, *, now: datetime, written: Callable[[str], bool]
) -> Reservation:
    """`wanted`, or what the key stood for before. `written` says whether there is such an item."""
    found = reservations.reserve(wanted, now=now)
    if found.item_id == wanted.item_id:
        return wanted
    if found.fingerprint != wanted.fingerprint:
        raise IdempotencyKeyReused
    given_up = instants.end_of(instants.minute_of(found.due_at)) + _REQUEST_LIVES
    if given_up < now and not written(found.item_id):
        # Nothing was promised yet, the first try is over, and its slot takes no more items.
        if not reservations.replace(found, wanted):
            raise IdempotencyInProgress
        return wanted
    return found


def answered_before(
    reservations: Reservations,
    tenant: str,
    key: str | None,
    *,
    fingerprint: str,
    refusal: PostdateError,
    written: Callable[[str], bool],
) -> Reservation:
    """Of a request that would be refused as a new one: an answer that was given once is given again."""
    found = reservations.find(tenant, key) if key else None
    if found is None or not written(found.item_id):
        raise refusal
    if found.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    return found
