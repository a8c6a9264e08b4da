"""An account: whole units of one virtual currency, some of them held for payments to come."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from postdate.domain.errors import LimitExceeded

# What accounts may without limits of their own.
AMOUNT_MAX = 1_000_000
# No environment lets an account's own limit be higher.
AMOUNT_CAP = 1_000_000_000_000
DELAY_MAX = timedelta(days=365)


class Status(StrEnum):
    """A FROZEN account neither pays nor is paid until it is ACTIVE again. CLOSED is final, and only an empty account
    is closed."""

    ACTIVE = "ACTIVE"
    FROZEN = "FROZEN"
    CLOSED = "CLOSED"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What one payment from an account may be. The defaults hold for every account without limits of its own; an
    account's own amounts may be higher, up to the environment's cap."""

    amount_min: int = 1
    amount_max: int = AMOUNT_MAX
    delay_min: timedelta = timedelta(seconds=1)
    delay_max: timedelta = DELAY_MAX

    @property
    def contradiction(self) -> str | None:
        """Why no payment can meet these limits; None for limits that leave something."""
        if self.amount_min > self.amount_max:
            return "has an amount_min above its amount_max"
        if self.delay_min > self.delay_max:
            return "has a delay_seconds_min above its delay_seconds_max"
        return None

    def check_amount(self, amount: int) -> None:
        if not self.amount_min <= amount <= self.amount_max:
            raise LimitExceeded([("amount", f"is {self.amount_min} to {self.amount_max} for this account")])

    def check_delay(self, delay: timedelta, *, field: str = "scheduled_time") -> None:
        """A second's grace below: the instant was named before the request arrived. `field` is what named it."""
        if not self.delay_min - timedelta(seconds=1) <= delay <= self.delay_max:
            least, most = (int(limit.total_seconds()) for limit in (self.delay_min, self.delay_max))
            raise LimitExceeded([(field, f"is {least} to {most} seconds ahead for this account")])


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """`reserved` is held for payments and comes back or goes out with them. `version` counts the changes.

    `journal_read_to` is the last place of its journal that somebody was shown: nothing is written there or before it
    any more."""

    id: str
    tenant: str
    created_at: datetime
    updated_at: datetime
    available: int = 0
    reserved: int = 0
    version: int = 1
    status: Status = Status.ACTIVE
    limits: Limits = field(default_factory=Limits)
    journal_read_to: str = field(default="", compare=False)

    @property
    def balance(self) -> int:
        return self.available + self.reserved
