"""Pages of payments in the order of their scheduled instants, of one account or of all.

The ledger's indexes have the order, the account and the states that need attention. What they cannot tell, such as
metadata, is looked up in the payments.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from functions.api import listing
from functions.api.accounts.find import find
from functions.api.forms import instant_of
from functions.api.listing import Page, Span
from postdate.domain.errors import ValidationFailed
from postdate.domain.payment import KIND, Payment, State
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger, Listed, Wanted

ORDERS: Final = ("asc", "desc")
METADATA: Final = "metadata."
_METADATA_MAX: Final = 20
_PLACE: Final = re.compile(rf"[0-9]{{13}}{KIND}_[0-9a-z]{{24}}")
# What has moved its amount was due: no instant is further ahead than clocks may be apart.
_CLOCKS_APART: Final = timedelta(minutes=5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """`wanted` is for the indexes, `metadata` for each payment by itself."""

    wanted: Wanted
    metadata: tuple[tuple[str, str], ...]
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "Query":
        metadata = tuple(
            sorted((name, text) for name, text in parameters.items() if name.startswith(METADATA))
        )
        listing.only_known(
            parameters, "account_id", "status", "from", "until", "order", *(name for name, _ in metadata)
        )
        if len(metadata) > _METADATA_MAX:
            raise ValidationFailed([(METADATA, f"is given for at most {_METADATA_MAX} names")])
        wanted = Wanted(
            tenant=tenant,
            account=parameters.get("account_id"),
            state=_state(parameters.get("status")),
            since=_instant(parameters, "from"),
            until=_instant(parameters, "until"),
            newest_first=_is_newest_first(parameters.get("order", ORDERS[0])),
        )
        asked = (wanted.account, wanted.state, parameters.get("from"), parameters.get("until"))
        mark = (
            "payments",
            tenant,
            *asked,
            str(wanted.newest_first),
            *(f"{name}={text}" for name, text in metadata),
        )
        span = Span.of(parameters, *mark)
        if span.after and not _PLACE.fullmatch(span.after):
            raise ValidationFailed([("cursor", "is not a cursor of this API")])
        return cls(
            wanted=wanted,
            metadata=tuple((name.removeprefix(METADATA), text) for name, text in metadata),
            span=span,
        )

    @property
    def filters(self) -> bool:
        return self.wanted.state is not None or bool(self.metadata)

    def wants(self, payment: Payment) -> bool:
        return (
            payment.tenant == self.wanted.tenant
            and self.wanted.account in (None, payment.payer, payment.payee)
            and self.wanted.state in (None, payment.state)
            and frozenset(self.metadata) <= frozenset(payment.metadata)
        )

    def at(self, now: datetime) -> Wanted:
        """What can be found now: no payment is settled before its instant."""
        latest = now + _CLOCKS_APART
        if self.wanted.state is State.COMPLETED and (self.wanted.until is None or self.wanted.until > latest):
            return replace(self.wanted, until=latest)
        return self.wanted


def page(query: Query, ledger: Ledger, *, clock: Clock) -> Page[Payment]:
    """Raises NotFound for an account that is not there."""
    wanted, at = query.at(clock.now()), dict[str, Listed]()
    has_time = listing.within(clock)
    if wanted.account is not None:
        find(ledger, wanted.tenant, wanted.account)

    def listed(after: str, limit: int) -> list[str]:
        found = ledger.payments_listed(wanted, after=after, limit=limit)
        at.update((each.place, each) for each in found)
        return [each.place for each in found]

    def loaded(places: Sequence[str]) -> Mapping[str, Payment]:
        """An entry that the index has twice, for the payment was given another instant just now, counts once."""
        ids = {at[place].id: place for place in places if _may_be_of(wanted.account, at[place])}
        return {ids[id]: payment for id, payment in ledger.payments(ids).items()}

    shown = listing.page(
        query.span, listed=listed, loaded=loaded, wants=query.wants, filters=query.filters, has_time=has_time
    )
    return replace(shown, items=_in_order(shown.items, newest_first=wanted.newest_first))


def _in_order(payments: Sequence[Payment], *, newest_first: bool) -> list[Payment]:
    once = {payment.id: payment for payment in payments}.values()
    return sorted(once, key=lambda payment: (payment.planned_at, payment.id), reverse=newest_first)


def _may_be_of(account: str | None, entry: Listed) -> bool:
    return account is None or entry.accounts is None or account in entry.accounts


def _state(text: str | None) -> State | None:
    if text is not None and text not in State.__members__:
        raise ValidationFailed([("status", f"is one of {', '.join(State)}")])
    return None if text is None else State(text)


def _instant(parameters: Mapping[str, str], name: str) -> datetime | None:
    return instant_of(name, parameters[name]) if name in parameters else None


def _is_newest_first(order: str) -> bool:
    if order not in ORDERS:
        raise ValidationFailed([("order", f"is one of {', '.join(ORDERS)}")])
    return order == "desc"
