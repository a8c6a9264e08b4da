"""The client for threads.

`python client/generate.py` writes this file from `async_client.py`.
"""

from postdate_client.accounts import Accounts
from postdate_client.answers import Whoami
from postdate_client.feed import Events
from postdate_client.operations import Operations
from postdate_client.payments import Payments
from postdate_client.runs import Runs
from postdate_client.tasks import Tasks


class Client(Payments, Accounts, Tasks, Runs, Operations):
    """One tenant's client. `deadline_seconds` bounds a request with all its retries, `timeout_seconds` one attempt.

    A request that registers or moves money carries an idempotency key: the one given, or a new one. All attempts of the
    request carry the same, so a lost answer neither loses nor doubles anything. To be safe across a crash of the caller
    as well, give a key of your own, such as the id of the order.
    """

    @property
    def events(self) -> Events:
        """The feed of events."""
        return Events(self)

    def whoami(self) -> Whoami:
        """Tenant, scopes and accounts of the key."""
        answer: Whoami = self.request("GET", "/api/v1/whoami")
        return answer
