"""Accounts in DynamoDB. Every change is a transaction, so that no function needs the right to write accounts alone."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from pynamodb.exceptions import DoesNotExist

from postdate.domain.account import Account, Limits, Status
from postdate.domain.errors import Unavailable
from postdate.stores import account_row, account_updates, batch_get
from postdate.stores.faults import translated
from postdate.stores.ledger_answers import UNMET
from postdate.stores.ledger_tables import TRIES, LedgerTables


class DynamoAccounts(LedgerTables):
    def account(self, tenant: str, id: str) -> Account | None:
        with translated():
            try:
                row = self._account_rows.get(account_row.key(tenant, id), consistent_read=True)
            except DoesNotExist:
                return None
        return account_row.account_of(row)

    def accounts(self, tenant: str, ids: Iterable[str]) -> dict[str, Account]:
        keys = ({"account": {"S": account_row.key(tenant, id)}} for id in dict.fromkeys(ids))
        rows = batch_get.models(self._account_rows, keys)
        return {account.id: account for account in map(account_row.account_of, rows)}

    def accounts_listed(self, tenant: str, *, after: str, limit: int, prefix: str = "") -> list[str]:
        first, last = account_row.keys_behind(tenant, after, prefix)
        if first > last:
            return []
        behind = self._account_rows.account.between(first, last)
        with translated():
            found = self._account_rows.by_tenant.query(tenant, behind, limit=limit)
            return [account_row.id_of(row.account) for row in found]

    def open(self, account: Account) -> bool:
        return account.id in self.open_all([account])

    def open_all(self, accounts: Sequence[Account]) -> set[str]:
        by = self._author()
        left = {
            account.id: {"Put": account_row.opening_of(self._accounts, account, by=by)}
            for account in accounts
        }
        for tried in range(TRIES):
            names = list(left)
            reasons = self._cancelled(list(left.values()))
            if not reasons:
                return set(names)
            # One account that exists makes DynamoDB refuse the others too, so these are tried again without
            # it.
            there = {names[index] for index, reason in reasons.items() if reason["Code"] == UNMET}
            left = {name: put for name, put in left.items() if name not in there}
            if not left:
                return set()
            # Another transaction is at one of these rows, or the table throttles.
            if not there:
                self._pause_after(tried)
        raise Unavailable

    def set_status(
        self, tenant: str, id: str, status: Status, *, now: datetime, version: int | None = None
    ) -> Account | None:
        """Uses a transaction, so that no function needs the right to write to accounts in another way."""
        update = account_updates.status_update_of(
            self._accounts, tenant, id, status, now, version=version, by=self._author()
        )
        self._write_row({"Update": update})
        return self.account(tenant, id)

    def close(self, tenant: str, id: str, *, now: datetime, version: int | None = None) -> Account | None:
        closing = account_updates.closing_of(
            self._accounts, tenant, id, now, version=version, by=self._author()
        )
        self._write_row({"Update": closing})
        return self.account(tenant, id)

    def set_limits(
        self, account: Account, limits: Limits, *, now: datetime, version: int | None = None
    ) -> Account | None:
        update = account_updates.limits_update_of(
            self._accounts, account, limits, now, version=version, by=self._author()
        )
        self._write_row({"Update": update})
        return self.account(account.tenant, account.id)
