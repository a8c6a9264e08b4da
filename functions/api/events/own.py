"""The events of one subject, complete and in their order, as they were recorded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from functions.api import listing
from functions.api.listing import Span
from postdate.domain.errors import ValidationFailed
from postdate.domain.event import Event, Subject
from postdate.stores.events import Events

_SEQUENCE_DIGITS: Final = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class Own:
    # The events, in their order.
    events: list[Event]
    # The beginning of the next page; None on the last one.
    cursor: str | None


def own(subject: Subject, parameters: Mapping[str, str], events: Events) -> Own:
    listing.only_known(parameters)
    span = Span.of(parameters, "own-events", subject.tenant, subject.kind, subject.id)
    if span.after and (not span.after.isdecimal() or len(span.after) > _SEQUENCE_DIGITS):
        raise ValidationFailed([("cursor", "is not a cursor of this API")])
    found = events.of(subject, after=int(span.after or 0), limit=span.limit + 1)
    shown = found[: span.limit]
    goes_on = len(found) > span.limit
    return Own(events=shown, cursor=span.cursor(str(shown[-1].sequence)) if goes_on else None)
