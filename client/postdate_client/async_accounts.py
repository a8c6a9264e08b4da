"""Accounts for asyncio. `python client/generate.py` writes `accounts.py` from this file."""

from collections.abc import AsyncIterator, Sequence
from typing import Final, Unpack

from postdate_client.answers import Account, AccountResult, Adjustment, Deposit, Event, Forecast, Transaction
from postdate_client.async_requests import AsyncRequests
from postdate_client.forms import AccountChangeForm, AccountForm, AdjustmentForm, DepositForm
from postdate_client.queries import AccountsQuery, ForecastQuery, PageQuery, TransactionsQuery
from postdate_client.values import given, named, new_key, path_of

_LIST: Final = "/api/v1/accounts"


class AsyncAccounts(AsyncRequests):
    """Accounts and their journals. Only an administrator's key opens, changes and fills accounts."""

    async def open_account(self, **form: Unpack[AccountForm]) -> Account:
        """Opens an account. Opening it again with the same limits is no error."""
        answer: Account = await self.request("POST", _LIST, form, repeatable=True)
        return answer

    async def open_accounts(self, accounts: Sequence[AccountForm]) -> list[AccountResult]:
        """Opens up to 100 accounts. Each is opened or refused by itself."""
        answer = await self.request("POST", f"{_LIST}/batch", {"accounts": list(accounts)}, repeatable=True)
        return list(answer["results"])

    async def account(self, account_id: str) -> Account:
        answer: Account = await self.request("GET", path_of("accounts", account_id))
        return answer

    def accounts(self, **query: Unpack[AccountsQuery]) -> AsyncIterator[Account]:
        """All accounts that fit. `limit` is that of a page."""
        return self.pages(_LIST, "accounts", query=named(query))

    async def change_account(
        self, account_id: str, *, version: int | None = None, **changes: Unpack[AccountChangeForm]
    ) -> Account:
        """Changes the limits of payments from the account. A change with a `version` is sent once."""
        path = path_of("accounts", account_id)
        answer: Account = await self.request(
            "PATCH", path, changes, version=version, repeatable=version is None
        )
        return answer

    async def close_account(self, account_id: str) -> Account:
        """Closes an empty account for good. Closing it again is no error."""
        return await self._turned(account_id, "close")

    async def freeze_account(self, account_id: str) -> Account:
        """Lets the account neither pay nor be paid: payments that are due meanwhile fail."""
        return await self._turned(account_id, "freeze")

    async def unfreeze_account(self, account_id: str) -> Account:
        return await self._turned(account_id, "unfreeze")

    async def deposit(
        self, account_id: str, *, idempotency_key: str | None = None, **form: Unpack[DepositForm]
    ) -> Deposit:
        """Brings money into an account."""
        path, key = f"{path_of('accounts', account_id)}/deposits", idempotency_key or new_key()
        answer: Deposit = await self.request("POST", path, given(form), idempotency_key=key)
        return answer

    async def adjust(
        self, account_id: str, *, idempotency_key: str | None = None, **form: Unpack[AdjustmentForm]
    ) -> Adjustment:
        """Corrects a balance by an `amount`, also downwards, or to what the journal says."""
        path, key = f"{path_of('accounts', account_id)}/adjustments", idempotency_key or new_key()
        answer: Adjustment = await self.request("POST", path, given(form), idempotency_key=key)
        return answer

    def transactions(self, account_id: str, **query: Unpack[TransactionsQuery]) -> AsyncIterator[Transaction]:
        """The journal of an account, in the order in which it was written."""
        path = f"{path_of('accounts', account_id)}/transactions"
        return self.pages(path, "transactions", query=named(query))

    def account_events(self, account_id: str, **query: Unpack[PageQuery]) -> AsyncIterator[Event]:
        """The events of the account itself, in order. Those of its payments are in the feed."""
        return self.pages(f"{path_of('accounts', account_id)}/events", "events", query=named(query))

    async def forecast(self, account_id: str, **query: Unpack[ForecastQuery]) -> Forecast:
        """The balance as the scheduled payments would leave it: one page of them, from now or from `cursor` on."""
        path = f"{path_of('accounts', account_id)}/forecast"
        answer: Forecast = await self.request("GET", path, query=named(query))
        return answer

    async def _turned(self, account_id: str, word: str) -> Account:
        path = f"{path_of('accounts', account_id)}/{word}"
        answer: Account = await self.request("POST", path, repeatable=True)
        return answer
