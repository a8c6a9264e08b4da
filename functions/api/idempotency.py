"""What an Idempotency-Key stands for: a new item, or the one an earlier request with it made or is about to make.

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

# A request lives 29 seconds at most; the rest is for clocks that do not agree.
_UNDER_WAY: Final = timedelta(seconds=60)


def held(
    reservations: Reservations,
    wanted: Reservation | None,
    *,
    refusal: PostdateError | None,
    now: datetime,
    written: Callable[[str], bool],
) -> Reservation | None:
    """What a registration stands for: `wanted` itself, or what its key stood for before. None is for one without a key.

    Raises the `refusal` that speaks against a new request, unless a request with this key was answered before.
    """
    if refusal is not None:
        return _answered_before(reservations, wanted, refusal=refusal, now=now, written=written)
    return wanted and stands_for(reservations, wanted, now=now, written=written)


def stands_for(
    reservations: Reservations, wanted: Reservation, *, now: datetime, written: Callable[[str], bool]
) -> Reservation:
    """`wanted` itself, or what the key stood for before. `written` says whether there is such an item.

    Whoever takes up what was not written does it while the minute lasts, as one who registers anew: then the write is
    there before the closing pass looks. Later the item is due in another minute than its home's and needs a pointer.
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
    """Of a request that would be refused as a new one: an answer that was given once is given again, and nothing is
    refused for good while an earlier request may still write it."""
    found = reservations.find(wanted.tenant, wanted.key) if wanted else None
    if wanted is None or found is None or found.is_over(now):
        raise refusal
    if found.fingerprint != wanted.fingerprint:
        raise IdempotencyKeyReused
    if not written(found.item_id):
        raise IdempotencyInProgress if _may_be_under_way(found, now) else refusal
    return found


def as_written(reservations: Reservations, held: Reservation, created_at: datetime) -> Reservation:
    """`held`, with the instant of the request that wrote the item: what was created then is that request's."""
    if known := held.of(created_at):
        return known
    kept = reservations.find(held.tenant, held.key)
    if kept is None or kept.item_id != held.item_id:
        return held
    return kept.of(created_at) or held


def _may_be_under_way(found: Reservation, now: datetime) -> bool:
    """It was begun just now, or taken up just before its instant passed."""
    begun = now < found.created_at + _UNDER_WAY
    return begun or found.due_at <= now < _minute_ends(found) + _UNDER_WAY


def _minute_ends(found: Reservation) -> datetime:
    return instants.end_of(instants.minute_of(found.due_at))
