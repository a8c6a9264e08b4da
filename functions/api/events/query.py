"""The question about a tenant's feed: which events, in which order, and for how long to wait."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from functions.api import listing
from functions.api.forms import instant_of
from functions.api.listing import Span
from postdate.domain.errors import ValidationFailed
from postdate.domain.event import Event
from postdate.stores.events import FeedEntry, FeedPage

ORDERS: Final = ("asc", "desc")
WAIT_SECONDS_MAX: Final = 20
_TYPE: Final = re.compile(r"\*|[a-z_]{1,40}\.(\*|[a-z_]{1,40})")
PLACE: Final = re.compile(r"([0-9a-f]{1,16})\.([0-9]{1,12})\.([0-9]{1,3})")


@dataclass(frozen=True, kw_only=True, slots=True)
class FeedQuery:
    # The owner of the feed.
    tenant: str
    # A type, `payment.*`, or `*`; None for all types.
    type: str | None
    # The item that the events are about; None for all.
    subject_id: str | None
    # An account that the event concerns; None for all. Only the event itself shows it, not its entry.
    account_id: str | None
    # The instants of recording, not those of the changes.
    since: datetime | None
    until: datetime | None
    # True to begin with the newest event.
    newest_first: bool
    # The time to wait for the next event if there is none.
    wait: timedelta
    # The place and the length of the page.
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "FeedQuery":
        names = ("type", "subject_id", "account_id", "since", "until", "order", "wait_seconds")
        listing.only_known(parameters, *names)
        type, order = parameters.get("type"), parameters.get("order", ORDERS[0])
        if type is not None and not _TYPE.fullmatch(type):
            raise ValidationFailed(
                [("type", "must be a type of events, such as payment.completed or payment.*")]
            )
        if order not in ORDERS:
            raise ValidationFailed([("order", f"is one of {', '.join(ORDERS)}")])
        asked = (parameters.get(name) for name in names if name not in ("order", "wait_seconds"))
        span = Span.of(parameters, "events", tenant, order, *asked)
        if span.after and not PLACE.fullmatch(span.after):
            raise ValidationFailed([("cursor", "is not a cursor of this API")])
        return cls(
            tenant=tenant,
            type=type,
            subject_id=parameters.get("subject_id"),
            account_id=parameters.get("account_id"),
            since=instant_of("since", parameters["since"]) if "since" in parameters else None,
            until=instant_of("until", parameters["until"]) if "until" in parameters else None,
            newest_first=order == "desc",
            wait=timedelta(seconds=_wait_seconds(parameters.get("wait_seconds", "0"))),
            span=span,
        )

    def may_want(self, entry: FeedEntry) -> bool:
        """False if the entry alone shows that its event does not pass the filter."""
        if self.subject_id not in (None, entry.id):
            return False
        if self.type in (None, "*", entry.type):
            return True
        return self.type is not None and self.type.endswith(".*") and entry.kind == self.type[:-2]

    def wants(self, event: Event) -> bool:
        return self.account_id is None or self.account_id in event.accounts

    def spans(self, page: FeedPage) -> bool:
        """True for a page within the requested times. The instant of the page decides, because the feed is ordered by
        it and the clocks of workers differ."""
        since_then = self.since is None or page.recorded_at >= self.since
        return since_then and (self.until is None or page.recorded_at < self.until)


def _wait_seconds(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 2 or int(text) > WAIT_SECONDS_MAX:
        raise ValidationFailed([("wait_seconds", f"is a number from 0 to {WAIT_SECONDS_MAX}")])
    return int(text)
