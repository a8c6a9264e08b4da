"""Opens an account: one conditional write. Opening it twice in the same way is no error."""

from dataclasses import dataclass

from postdate.domain.account import Account, Limits
from postdate.domain.errors import InvalidState, Unavailable
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    account: Account
    replayed: bool = False


def open_account(tenant: str, id: str, limits: Limits, *, ledger: Ledger, clock: Clock) -> Opened:
    now = clock.now()
    account = Account(id=id, tenant=tenant, created_at=now, updated_at=now, limits=limits)
    if ledger.open(account):
        return Opened(account=account)
    stored = ledger.account(tenant, id)
    if stored is None:
        raise Unavailable
    if stored.limits != limits:
        raise InvalidState(stored.status, f"the account {id} is there already, with other limits")
    return Opened(account=stored, replayed=True)
