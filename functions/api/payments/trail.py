"""The audit trail of a payment: its events, complete and in their order.

Events are recorded a moment after their changes. Events that are not recorded yet come from the payment's own history.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from functions.api import listing
from functions.api.listing import Span
from postdate.domain import payment_event
from postdate.domain.errors import ValidationFailed
from postdate.domain.event import Event
from postdate.domain.payment import Payment
from postdate.stores.events import Events

# Without a limit: more versions than the longest life of a payment has.
LIMIT_DEFAULT: Final = 1000
_SEQUENCE_DIGITS: Final = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Trail:
    # The events, in their order.
    events: list[Event]
    # The beginning of the next page; None on the last one.
    cursor: str | None


def trail(payment: Payment, parameters: Mapping[str, str], events: Events) -> Trail:
    listing.only_known(parameters)
    span = Span.of(parameters, "trail", payment.tenant, payment.id)
    if span.after and (not span.after.isdecimal() or len(span.after) > _SEQUENCE_DIGITS):
        raise ValidationFailed([("cursor", "is not a cursor of this API")])
    after, limit = int(span.after or 0), span.limit if "limit" in parameters else LIMIT_DEFAULT
    recorded = events.of(payment_event.subject_of(payment), after=after, limit=limit + 1)
    if len(recorded) <= limit:
        recorded = _completed(payment, recorded, after)
    shown = recorded[:limit]
    return Trail(events=shown, cursor=span.cursor(str(shown[-1].sequence)) if len(recorded) > limit else None)


def _completed(payment: Payment, recorded: list[Event], after: int) -> list[Event]:
    """The recorded events, completed from the payment's own history where versions are missing."""
    known = {event.sequence for event in recorded}
    missing = [
        event
        for event in payment_event.events_of_history(payment, after=after)
        if event.sequence not in known
    ]
    return sorted((*recorded, *missing), key=lambda event: event.sequence)
