"""The item of an Idempotency-Key: a new one, or that of an earlier request with the same key.

A key stands for one item until it is free again. While nothing is written, a request that comes after the item's slot
took its last gives the item a new instant, and leaves the old one on record. An older request that is still under way
may write the item with the old instant: the item's row takes only one of them, and what all of them answer follows from
that row (`as_written`). No clock decides how many items there are.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.errors import IdempotencyInProgress, IdempotencyKeyReused, PostdateError
from postdate.stores.idempotency import Reservation, Reservations

# How long a key stands for its item.
KEY_KEPT: Final = timedelta(days=30)
# A request lives 29 seconds at most; the rest is for clocks that do not agree.
_UNDER_WAY: Final = timedelta(seconds=60)


def reserved(
    reservations: Reservations,
    wanted: Reservation | None,
    *,
    refusal: PostdateError | None,
    now: datetime,
    written: Callable[[str], bool],
) -> Reservation | None:
    """Returns the reservation of a registration: `wanted`, or the earlier one of its key. Without a key it is None.

    Raises the `refusal` that speaks against a new request, unless a request with this key was answered before.
    """
    if refusal is not None:
        return _answered_before(reservations, wanted, refusal=refusal, now=now, written=written)
    return wanted and stands_for(reservations, wanted, now=now, written=written)


def stands_for(
    reservations: Reservations, wanted: Reservation, *, now: datetime, written: Callable[[str], bool]
) -> Reservation:
    """Returns `wanted` if the key is free, else the earlier reservation. `written` tells if an item with an id exists.

    If the earlier item was never written: until the end of its minute the caller writes it with the old instant, and
    the closing pass finds it. Later the reservation gets this request's instant, and the item needs a pointer, because
    its id encodes the old minute.

    Raises IdempotencyKeyReused for another request, IdempotencyInProgress if another one was faster.
    """
    found = reservations.reserve(wanted, now=now)
    if found.item_id == wanted.item_id:
        return wanted
    if found.fingerprint != wanted.fingerprint:
        raise IdempotencyKeyReused
    if now < _minute_ends(found) or written(found.item_id):
        return found
    again = found.anew(wanted)
    # Requests are told apart by when they were made.
    if now <= found.created_at or not reservations.redate(found, again):
        raise IdempotencyInProgress
    return again


def _answered_before(
    reservations: Reservations,
    wanted: Reservation | None,
    *,
    refusal: PostdateError,
    now: datetime,
    written: Callable[[str], bool],
) -> Reservation:
    """Answers a request that would be refused if it were new. An answer that was given before is given again, and
    nothing is refused for good while an earlier request may still write its item."""
    found = reservations.find(wanted.tenant, wanted.key) if wanted else None
    if wanted is None or found is None or found.is_over(now):
        raise refusal
    if found.fingerprint != wanted.fingerprint:
        raise IdempotencyKeyReused
    if not written(found.item_id):
        raise IdempotencyInProgress if _may_be_under_way(found, now) else refusal
    return found


def as_written(reservations: Reservations, reservation: Reservation, created_at: datetime) -> Reservation:
    """`reservation`, with the instant of the request that wrote the item: what was created then is that request's."""
    if known := reservation.of(created_at):
        return known
    kept = reservations.find(reservation.tenant, reservation.key)
    if kept is None or kept.item_id != reservation.item_id:
        return reservation
    return kept.of(created_at) or reservation


def _may_be_under_way(found: Reservation, now: datetime) -> bool:
    """True if a request began the item just now, or repeated it just before its instant passed."""
    begun = now < found.created_at + _UNDER_WAY
    return begun or found.due_at <= now < _minute_ends(found) + _UNDER_WAY


def _minute_ends(found: Reservation) -> datetime:
    return instants.end_of(instants.minute_of(found.due_at))
