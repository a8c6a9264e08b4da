"""Pages of a tenant's accounts, in the order of their names."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from functions.api import listing
from functions.api.forms import AccountId
from functions.api.listing import Page, Span
from postdate.domain.account import Account, Status
from postdate.domain.errors import ValidationFailed
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger

_NAME = TypeAdapter[str](AccountId)


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountQuery:
    # The owner.
    tenant: str
    # None for accounts of every status.
    status: str | None
    # The beginning of the wanted ids; empty for all.
    prefix: str
    # The place and the length of the page.
    span: Span

    @classmethod
    def of(cls, tenant: str, parameters: Mapping[str, str]) -> "AccountQuery":
        listing.only_known(parameters, "status", "prefix")
        status, prefix = parameters.get("status"), parameters.get("prefix", "")
        if status is not None and status not in set(Status):
            raise ValidationFailed([("status", f"is one of {', '.join(Status)}")])
        if "prefix" in parameters and not _begins_a_name(prefix):
            raise ValidationFailed([("prefix", "is not the beginning of an account's id")])
        span = Span.of(parameters, "accounts", tenant, status, prefix)
        return cls(tenant=tenant, status=status, prefix=prefix, span=span)


def page(query: AccountQuery, ledger: Ledger, *, clock: Clock) -> Page[Account]:
    return listing.page(
        query.span,
        listed=lambda after, limit: ledger.accounts_listed(
            query.tenant, after=after, limit=limit, prefix=query.prefix
        ),
        loaded=lambda ids: ledger.accounts(query.tenant, ids),
        wants=lambda account: query.status in (None, account.status.value),
        filters=query.status is not None,
        has_time=listing.within(clock),
    )


def _begins_a_name(prefix: str) -> bool:
    try:
        _NAME.validate_python(prefix)
    except ValidationError:
        return False
    return True
