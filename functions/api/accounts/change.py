"""Changes the limits and the status of accounts: one conditional write each, decided anew after another writer's.

A payment may be registered while its account's limits change: then the limits count that it was checked against.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from functions.api.accounts.find import find
from functions.api.accounts.limits import refuse_above
from functions.api.refusals import closed, unknown
from postdate.domain.account import Account, Status
from postdate.domain.errors import Conflict, InvalidState, ValidationFailed, VersionMismatch
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger

_TRIES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountChanger:
    ledger: Ledger
    clock: Clock
    # The greatest limit of amounts in this environment.
    amount_cap: int

    def limit(self, tenant: str, id: str, given: Mapping[str, Any], *, version: int | None) -> Account:
        """`given` are fields of Limits. Limits that the account has already are no change."""
        account = find(self.ledger, tenant, id)
        for _ in range(_TRIES):
            limits = replace(account.limits, **given)
            if account.status is Status.CLOSED:
                raise closed(account.id)
            # Before the version is compared: a repeated request finds its own change and is no conflict.
            if limits == account.limits:
                return account
            _refuse_version(account, version)
            if wrong := limits.contradiction:
                raise ValidationFailed([("limits", wrong)])
            refuse_above(limits, self.amount_cap)
            now = self.clock.now()
            account = _there(self.ledger.set_limits(account, limits, now=now, version=version), id)
            if account.limits == limits:
                return account
        raise Conflict

    def close(self, tenant: str, id: str, *, version: int | None) -> Account:
        """An account with money, or with money held for payments, stays open. Closing twice is no error."""
        account = find(self.ledger, tenant, id)
        for _ in range(_TRIES):
            if account.status is Status.CLOSED:
                return account
            _refuse_version(account, version)
            if account.balance:
                raise InvalidState(account.status, f"the account {account.id} is not empty")
            now = self.clock.now()
            account = _there(self.ledger.close(tenant, account.id, now=now, version=version), id)
        if account.status is not Status.CLOSED:
            raise Conflict
        return account

    def set_status(self, tenant: str, id: str, status: Status, *, version: int | None) -> Account:
        """Freezes or unfreezes. An account that has the status already is no change."""
        account = find(self.ledger, tenant, id)
        for _ in range(_TRIES):
            if account.status is Status.CLOSED:
                raise closed(account.id)
            if account.status is status:
                return account
            _refuse_version(account, version)
            now = self.clock.now()
            changed = self.ledger.set_status(tenant, account.id, status, now=now, version=version)
            account = _there(changed, id)
        if account.status is not status:
            raise Conflict
        return account


def _there(account: Account | None, id: str) -> Account:
    if account is None:
        raise unknown(id)
    return account


def _refuse_version(account: Account, version: int | None) -> None:
    if version not in (None, account.version):
        raise VersionMismatch(f"the account has version {account.version}")
