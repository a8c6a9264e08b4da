"""Changes of the table `payments` as events."""

from functions.record.changes import Change
from postdate.domain import payment_event
from postdate.domain.event import Event
from postdate.stores.payment_row import payment_in


def event_of(change: Change) -> Event | None:
    """The event of a change in the table of payments; None for a pointer, and for a change that makes no version."""
    if "points_to" in change.after:
        return None
    before = payment_in(change.before) if change.before else None
    return payment_event.event_of(before, payment_in(change.after))
