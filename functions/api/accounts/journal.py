"""Pages of an account's journal, the oldest movement first."""

from collections.abc import Mapping

from functions.api import listing
from functions.api.accounts.find import find
from functions.api.listing import Span
from postdate.domain.movement import Movement
from postdate.stores.ledger import Ledger


def page(
    tenant: str, account: str, parameters: Mapping[str, str], ledger: Ledger
) -> tuple[list[Movement], str | None]:
    listing.only_known(parameters)
    span = Span.of(parameters, "transactions", tenant, account)
    found = ledger.movements(tenant, find(ledger, tenant, account).id, after=span.after, limit=span.limit + 1)
    return span.cut(found, lambda movement: movement.id)
