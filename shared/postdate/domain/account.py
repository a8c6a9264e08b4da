"""An account: whole units of one virtual currency, some of them held for payments to come."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from postdate.domain.errors import LimitExceeded

# The greatest amount of an account without limits of its own.
AMOUNT_MAX = 1_000_000
# The greatest limit of an account in any environment.
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
    """Bounds of one payment from an account. An administrator sets them; a bound that nobody set has its default."""

    # The least amount.
    amount_min: int = 1
    # The greatest amount, up to the cap of the environment.
    amount_max: int = AMOUNT_MAX
    # The shortest time from the registration to the instant.
    delay_min: timedelta = timedelta(seconds=1)
    # The longest time from the registration to the instant.
    delay_max: timedelta = DELAY_MAX

    @property
    def contradiction(self) -> str | None:
        """The reason why no payment can meet these limits; None if a payment can."""
        if self.amount_min > self.amount_max:
            return "has an amount_min above its amount_max"
        if self.delay_min > self.delay_max:
            return "has a delay_seconds_min above its delay_seconds_max"
        return None

    def check_amount(self, amount: int) -> None:
        if not self.amount_min <= amount <= self.amount_max:
            raise LimitExceeded([("amount", f"is {self.amount_min} to {self.amount_max} for this account")])

    def check_delay(self, delay: timedelta, *, field: str = "scheduled_time") -> None:
        """Raises LimitExceeded. A delay may be one second too short, because the request took time to arrive. `field`
        is the field of the request that set the delay."""
        if not self.delay_min - timedelta(seconds=1) <= delay <= self.delay_max:
            least, most = (int(limit.total_seconds()) for limit in (self.delay_min, self.delay_max))
            raise LimitExceeded([(field, f"is {least} to {most} seconds ahead for this account")])


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """The money of one account, and the bounds of its payments. Only transactions of the ledger change it."""

    # The name that an administrator chose, unique in the tenant.
    id: str
    # The owner, from the key of the request.
    tenant: str
    # The instant at which the account was opened.
    created_at: datetime
    # The instant of the last change.
    updated_at: datetime
    # Money that payments may take; never below 0.
    available: int = 0
    # Money held for payments to come; never below 0. A payment that completes takes it, one that fails returns it.
    reserved: int = 0
    # 1 when opened, one more with each change. Conditional writes compare the version.
    version: int = 1
    # The current status; an administrator sets it.
    status: Status = Status.ACTIVE
    # The account's own limits, or the defaults.
    limits: Limits = field(default_factory=Limits)
    # The last place of the journal that a reader was shown. No row is written at or before it any more. Empty if
    # nobody read the journal.
    journal_read_to: str = field(default="", compare=False)

    @property
    def balance(self) -> int:
        return self.available + self.reserved
