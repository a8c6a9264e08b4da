"""The time for which finished payments stay in their table, and their keys in the archive afterwards.

A payment's row gets the instant of its removal only when an object of the archive holds the payment. The removal itself
is DynamoDB's.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment
from postdate.domain.slots import Slot, first_of, home, is_id

# No environment keeps payments for less. Reads rely on it: a younger payment that the table lacks is nowhere.
KEPT_MIN: Final = timedelta(days=400)
# The age of a slot when its payments are copied. The events of all of them are still in their table then: none is
# registered more than a year before its instant.
COPIED_AFTER: Final = timedelta(days=14)
PAYMENTS: Final = "payments/"
_KEY: Final = re.compile(r"day=(\d{4}-\d\d-\d\d)/minute=(\d{4})/shard=(\d+)/slot-(\d+)\.jsonl\.gz")


def kept_for(days: int) -> timedelta:
    """The environment's setting. Raises ValueError for less than the minimum."""
    if timedelta(days=days) < KEPT_MIN:
        raise ValueError(f"payments are kept for {KEPT_MIN.days} days at least, not for {days}")
    return timedelta(days=days)


def may_be_archived(id: str | None, now: datetime) -> bool:
    """True if a payment of this id may have left the table. The answer follows from the id alone."""
    return id is not None and is_id(id) and instants.end_of(home(id).minute) + KEPT_MIN <= now


def archived_at(now: datetime) -> Callable[[str | None], bool]:
    """Makes the test of `may_be_archived` for many ids: ids sort by minute, so a younger one is told by one look."""
    border = first_of(instants.minute_of(now - KEPT_MIN))

    def may_be(id: str | None) -> bool:
        return id is not None and id.rpartition("_")[2] < border and may_be_archived(id, now)

    return may_be


def archived(movements: Iterable[Movement], payments: Iterable[Payment], *, now: datetime) -> frozenset[str]:
    """The ids of payments that have a movement, that are not among these, and that may have left the table."""
    named = {each.payment_id for each in movements if each.payment_id} - {each.id for each in payments}
    return frozenset(id for id in named if may_be_archived(id, now))


def leaves_at(payment: Payment, kept: timedelta) -> datetime | None:
    """The instant from which a payment's row is not needed; None for one that has not ended. Lists are ordered by the
    scheduled instant and ids name their minute, so each of these counts."""
    if not payment.state.is_final or payment.finished_at is None:
        return None
    return max(payment.finished_at, payment.planned_at, instants.end_of(payment.home.minute)) + kept


def object_key(slot: Slot, number: int) -> str:
    """The key of the slot's object with this number. Numbers begin with 1 and have no gap."""
    at = instants.start_of(slot.minute)
    return f"{PAYMENTS}day={at:%Y-%m-%d}/minute={at:%H%M}/shard={slot.shard:04d}/slot-{number:04d}.jsonl.gz"


def place_of(key: str) -> tuple[Slot, int] | None:
    """The slot and the number of an object; None for any other key."""
    found = _KEY.fullmatch(key.removeprefix(PAYMENTS))
    if found is None:
        return None
    try:
        at = datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H%M").replace(tzinfo=UTC)
    except ValueError:
        return None
    slot, number = Slot(minute=instants.minute_of(at), shard=int(found[3])), int(found[4])
    return (slot, number) if object_key(slot, number) == key else None
