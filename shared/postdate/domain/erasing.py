"""Erasure of a tenant: the steps in their order, and the names that its money has afterwards.

Money needs its rows: without them the sums of the service are no longer explained. So accounts, movements and payments
get another tenant and other account ids, and lose their texts. All other rows of the tenant are deleted.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.account import Account
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment

# No tenant can be made with a name that begins like this.
PREFIX: Final = "erased-"
NAME_CHARACTERS: Final = 20
# The attribute of rows with new names. The recorder tells no event of them: the image before has the old names.
RENAMED: Final = "renamed_at"
# A registration that began before the suspension was known everywhere has ended after this time.
DRAINS: Final = timedelta(minutes=2)
# The streams keep records for a day: no change of before is recorded as an event after that.
STREAMS_KEPT: Final = timedelta(hours=25)
# A run of another function that has read the tenant's name has ended after this time.
FORGOTTEN: Final = timedelta(minutes=20)
# The steps of a pass. The second one begins when the streams have nothing of the tenant any more. Rows that lead to
# others go after them: an item tells whose its payload is.
_PASS: Final = (
    *("keys", "letters", "cancel", "check", "payments", "journal", "accounts", "audit"),
    *("payloads", "items", "idempotency", "subscriptions", "flow", "operations", "switches", "slots"),
    *("reports", "events"),
)
# Keys go before the first wait: no request of the tenant changes what is walked.
STEPS: Final = ("keys", "drain", *_PASS, "streams", *_PASS, "tenant", "forgotten", "data_keys")
WAITS: Final = frozenset({"drain", "streams", "forgotten"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Erasure:
    """The place of one tenant's erasure. The row of the new tenant keeps it, so that no log of a machine has a name."""

    # The new name: random, so nothing leads from it to the old one.
    tenant: str
    # The tenant that is erased.
    of: str
    # The key of the new names. It goes with the last step; nobody can compute a new name from an old one then.
    salt: str
    # The operator who asked for it, as `<type>:<id>`.
    by: str
    # The instant of the request.
    began_at: datetime
    # The number of the step that is under way.
    step: int = 0
    # The place inside the step; None at its beginning.
    after: str | None = None
    # The end of the wait that is under way; None in other steps.
    until: datetime | None = None
    # The rows that were renamed, cancelled or deleted until the place was noted last.
    rows: int = 0

    @property
    def name(self) -> str:
        return STEPS[self.step]

    @property
    def is_over(self) -> bool:
        return self.step >= len(STEPS)

    @property
    def is_again(self) -> bool:
        """True in the second pass."""
        return self.step > STEPS.index("streams")

    def worked(self, rows: int) -> "Erasure":
        """With so many rows more."""
        return replace(self, rows=self.rows + rows)

    def next(self) -> "Erasure":
        return replace(self, step=self.step + 1, after=None, until=None)

    def back_to(self, name: str) -> "Erasure":
        """At the beginning of an earlier step of the same pass."""
        step = max(number for number in range(self.step) if STEPS[number] == name)
        return replace(self, step=step, after=None, until=None)

    def account(self, id: str) -> str:
        """The new id of an account, the same in all rows."""
        digest = hmac.new(self.salt.encode(), id.encode(), hashlib.sha256).digest()
        return new_name(digest)

    def _side(self, id: str | None) -> str | None:
        return None if id is None else self.account(id)

    def payment(self, given: Payment) -> Payment:
        """The payment without a name and without a person's text. Its id, its amount and its instants stay."""
        return replace(
            given,
            tenant=self.tenant,
            payer=self.account(given.payer),
            payee=self.account(given.payee),
            description=None,
            metadata=(),
            error=None,
            history=tuple(replace(line, why="", by="") for line in given.history),
            executions=(),
        )

    def movement(self, given: Movement) -> Movement:
        return replace(
            given,
            tenant=self.tenant,
            payer=self._side(given.payer),
            payee=self._side(given.payee),
            reason=None,
            reference=None,
            description=None,
            metadata=(),
        )

    def of_account(self, given: Account) -> Account:
        """A version more, so that no audit takes the row for the one before."""
        return replace(given, tenant=self.tenant, id=self.account(given.id), version=given.version + 1)


def new_name(random: bytes) -> str:
    """A name of the first hundred bits."""
    return PREFIX + base64.b32encode(random).decode().lower()[:NAME_CHARACTERS]


def is_erased(tenant: str) -> bool:
    """True for the name that the money of an erased tenant has."""
    return tenant.startswith(PREFIX)
