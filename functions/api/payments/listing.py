"""Pages of payments, in the order of the minutes they were registered for, each page in the order of instants."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from functions.api import listing
from functions.api.accounts.find import find
from functions.api.listing import Span
from postdate.domain.errors import ValidationFailed
from postdate.domain.payment import Payment, State
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger

ACCOUNTS_MAX: Final = 100
TIME: Final = timedelta(seconds=5)
_QUERIES_MAX: Final = 400
_AT_ONCE: Final = 8


def accounts_max(listing_shards: int) -> int:
    """How many accounts can be listed at once: each is a query a shard for either side of its payments."""
    return max(1, min(ACCOUNTS_MAX, _QUERIES_MAX // (2 * listing_shards)))


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """`account` is on either side of a payment."""

    tenant: str
    account: str | None
    status: State | None
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "Query":
        listing.only_known(parameters, "account_id", "status")
        account, status = parameters.get("account_id"), parameters.get("status")
        if status is not None and status not in State.__members__:
            raise ValidationFailed([("status", f"is one of {', '.join(State)}")])
        return cls(
            tenant=tenant,
            account=account,
            status=None if status is None else State(status),
            span=Span.of(parameters, "payments", tenant, account, status),
        )

    def wants(self, payment: Payment) -> bool:
        return payment.tenant == self.tenant and self.status in (None, payment.state)


def page(
    query: Query, ledger: Ledger, *, clock: Clock, accounts_at_once: int = ACCOUNTS_MAX
) -> tuple[list[Payment], str | None]:
    """Without an account, those of all of the tenant's, if they are no more than `accounts_at_once`."""
    ends_at = clock.now() + TIME
    accounts = _accounts(query, ledger, accounts_at_once)
    found, cursor = listing.page(
        query.span,
        listed=lambda after, limit: _listed(query.tenant, accounts, ledger, after, limit),
        loaded=ledger.payments,
        wants=query.wants,
        filters=query.status is not None,
        has_time=lambda: clock.now() < ends_at,
    )
    return sorted(found, key=lambda payment: (payment.planned_at, payment.id)), cursor


def _accounts(query: Query, ledger: Ledger, most: int) -> Sequence[str]:
    if query.account is not None:
        return [find(ledger, query.tenant, query.account).id]
    accounts = ledger.accounts_listed(query.tenant, after="", limit=most + 1)
    if len(accounts) > most:
        message = f"is needed: the tenant has more than {most} accounts"
        raise ValidationFailed([("account_id", message)])
    return accounts


def _listed(tenant: str, accounts: Sequence[str], ledger: Ledger, after: str, limit: int) -> list[str]:
    """A payment stands in the lists of two accounts."""

    def of(account: str) -> list[str]:
        return ledger.payments_listed(tenant, account, after=after, limit=limit)

    if len(accounts) <= 1:
        return [id for account in accounts for id in of(account)]
    with ThreadPoolExecutor(_AT_ONCE) as readers:
        return sorted({id for ids in readers.map(of, accounts) for id in ids})[:limit]
