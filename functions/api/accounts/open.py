"""Opens an account: one conditional write. Opening it twice in the same way is no error."""

from dataclasses import dataclass

from functions.api.accounts.limits import refuse_above
from functions.api.refusals import closed
from postdate.domain.account import Account, Limits, Status
from postdate.domain.errors import InvalidState, Unavailable
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    account: Account
    replayed: bool = False


def open_account(
    tenant: str, id: str, limits: Limits, *, amount_cap: int, ledger: Ledger, clock: Clock
) -> Opened:
    refuse_above(limits, amount_cap)
    now = clock.now()
    account = Account(id=id, tenant=tenant, created_at=now, updated_at=now, limits=limits)
    if ledger.open(account):
        return Opened(account=account)
    stored = ledger.account(tenant, id)
    if stored is None:
        raise Unavailable
    if stored.status is Status.CLOSED:
        raise closed(id)
    if stored.limits != limits:
        raise InvalidState(stored.status, f"the account {id} is there already, with other limits")
    return Opened(account=stored, replayed=True)
