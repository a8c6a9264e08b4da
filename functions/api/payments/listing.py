"""Pages of payments in the order of their scheduled instants, of one account or of all.

The ledger's indexes have the order, the account and the states that need attention. All other filters, such as
metadata, are looked up in the payments.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from functions.api import listing
from functions.api.accounts.find import find
from functions.api.listing import CLOCKS_APART, Page, Span
from functions.api.unfinished import Between, Unfinished
from postdate.domain.errors import ValidationFailed
from postdate.domain.payment import KIND, Payment, State
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger, ListedPayment, PaymentsWanted

METADATA: Final = "metadata."
_METADATA_MAX: Final = 20
_PLACE: Final = re.compile(rf"[0-9]{{13}}{KIND}_[0-9a-z]{{24}}")


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentQuery:
    """The filters of a list of payments."""

    # The filters that the indexes know.
    wanted: PaymentsWanted
    # Pairs that each payment has to have. No index knows them.
    metadata: tuple[tuple[str, str], ...]
    # The place and the length of the page.
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "PaymentQuery":
        metadata = tuple(
            sorted((name, text) for name, text in parameters.items() if name.startswith(METADATA))
        )
        listing.only_known(
            parameters, "account_id", "status", "from", "until", "order", *(name for name, _ in metadata)
        )
        if len(metadata) > _METADATA_MAX:
            raise ValidationFailed([(METADATA, f"is given for at most {_METADATA_MAX} names")])
        wanted = PaymentsWanted(
            tenant=tenant,
            account=parameters.get("account_id"),
            state=_state(parameters.get("status")),
            since=listing.instant(parameters, "from"),
            until=listing.instant(parameters, "until"),
            newest_first=listing.is_newest_first(parameters),
        )
        asked = (wanted.account, wanted.state, parameters.get("from"), parameters.get("until"))
        # A cursor leads on in the same list only: another filter gives another mark.
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

    def at(self, now: datetime, unfinished: Unfinished) -> list[PaymentsWanted]:
        """The parts of the list to read, in its order. For some states only a part of the time can hold payments: none
        completes before its instant, and few are PENDING long after it."""
        since, until = self.wanted.since, self.wanted.until
        parts = [Between(since, until)]
        if self.wanted.state is State.PENDING and since is None:
            parts = [part for each in unfinished.minutes().waiting if (part := each.cut(None, until))]
        if self.wanted.state is State.COMPLETED:
            parts = [Between(since, min(until or now + CLOCKS_APART, now + CLOCKS_APART))]
        wanted = [replace(self.wanted, since=part.since, until=part.until) for part in parts]
        return wanted[::-1] if self.wanted.newest_first else wanted


def listed(
    ledger: Ledger, wanted: Sequence[PaymentsWanted], *, after: str, limit: int
) -> list[ListedPayment]:
    """The entries of parts that lie one behind the other. Fewer than `limit` are the last ones."""
    found: list[ListedPayment] = []
    for part in wanted:
        if len(found) < limit:
            found += ledger.payments_listed(part, after=after, limit=limit - len(found))
    return found


def page(query: PaymentQuery, ledger: Ledger, unfinished: Unfinished, *, clock: Clock) -> Page[Payment]:
    """Returns one page of a list of payments. Raises NotFound for an unknown account."""
    asked, at = query.wanted, dict[str, ListedPayment]()
    has_time = listing.within(clock)
    if asked.account is not None:
        find(ledger, asked.tenant, asked.account)
    wanted = query.at(clock.now(), unfinished)

    def places(after: str, limit: int) -> list[str]:
        found = listed(ledger, wanted, after=after, limit=limit)
        at.update((each.place, each) for each in found)
        return [each.place for each in found]

    def loaded(places: Sequence[str]) -> Mapping[str, Payment]:
        """Reads the payments of entries. The index has two entries for a payment that moved a moment ago; such a
        payment counts once."""
        ids = {at[place].id: place for place in places if _may_be_of(asked.account, at[place])}
        return {ids[id]: payment for id, payment in ledger.payments(ids).items()}

    shown = listing.page(
        query.span, listed=places, loaded=loaded, wants=query.wants, filters=query.filters, has_time=has_time
    )
    return replace(shown, items=_in_order(shown.items, newest_first=asked.newest_first))


def _in_order(payments: Sequence[Payment], *, newest_first: bool) -> list[Payment]:
    once = {payment.id: payment for payment in payments}.values()
    return sorted(once, key=lambda payment: (payment.planned_at, payment.id), reverse=newest_first)


def _may_be_of(account: str | None, entry: ListedPayment) -> bool:
    return account is None or entry.accounts is None or account in entry.accounts


def _state(text: str | None) -> State | None:
    if text is not None and text not in State.__members__:
        raise ValidationFailed([("status", f"is one of {', '.join(State)}")])
    return None if text is None else State(text)
