"""The client for asyncio. `python client/generate.py` writes `client.py` from this file."""

from postdate_client.answers import Whoami
from postdate_client.async_accounts import AsyncAccounts
from postdate_client.async_feed import AsyncEvents
from postdate_client.async_operations import AsyncOperations
from postdate_client.async_payments import AsyncPayments
from postdate_client.async_runs import AsyncRuns
from postdate_client.async_tasks import AsyncTasks


class AsyncClient(AsyncPayments, AsyncAccounts, AsyncTasks, AsyncRuns, AsyncOperations):
    """One tenant's client. `deadline_seconds` bounds a request with all its retries, `timeout_seconds` one attempt.

    A request that registers or moves money carries an idempotency key: the one given, or a new one. All attempts of the
    request carry the same, so a lost answer neither loses nor doubles anything. To be safe across a crash of the caller
    as well, give a key of your own, such as the id of the order.
    """

    @property
    def events(self) -> AsyncEvents:
        """The feed of events."""
        return AsyncEvents(self)

    async def whoami(self) -> Whoami:
        """Tenant, scopes and accounts of the key."""
        answer: Whoami = await self.request("GET", "/api/v1/whoami")
        return answer
