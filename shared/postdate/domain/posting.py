"""A posting: one step of a payment, or a deposit, with all that it does to accounts. It is written whole or not at
all.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from postdate.domain.movement import Movement
from postdate.domain.payment import Payment


@dataclass(frozen=True, kw_only=True, slots=True)
class Leg:
    """The effect of a posting on one account. The write fails if a part would fall below 0."""

    # The id of the account.
    account: str
    # The change of the available money.
    available: int = 0
    # The change of the reserved money.
    reserved: int = 0
    # True if the write fails for a frozen or closed account.
    needs_active: bool = True
    # The version that the account must have; None for any version.
    at_version: int | None = None

    @property
    def needs_open(self) -> bool:
        """True if the leg brings money that a closed account must not get. Held money may always come back, and an
        account may be set right at a version."""
        brings = self.available > 0 and self.available + self.reserved > 0
        return not self.needs_active and self.at_version is None and brings


@dataclass(frozen=True, kw_only=True, slots=True)
class Posting:
    """A decided change of money. The ledger writes it whole, on condition that the stored payment still equals
    `before`."""

    # The owner of all its accounts.
    tenant: str
    # The instant of the decision.
    at: datetime
    # The payment as it was read; None for a new payment, and for a posting without a payment.
    before: Payment | None = None
    # The payment to write; None for a deposit or an adjustment.
    after: Payment | None = None
    # The changes of accounts; empty if no money moves.
    legs: tuple[Leg, ...] = ()
    # The row for the journal; None if only holds change.
    movement: Movement | None = None
    # True if the payment moves to another minute, whose slot then needs a pointer to its home.
    points: bool = False

    def signed(self, by: str) -> "Posting":
        """The posting with the author of the payment's change, as `<type>:<id>`."""
        if self.after is None or not self.after.history:
            return self
        *earlier, last = self.after.history
        return replace(self, after=replace(self.after, history=(*earlier, replace(last, by=by))))

    @property
    def instant(self) -> datetime:
        """The posting's place among those of one call: a payment's planned instant once that has come, else the instant
        of the decision."""
        return self.at if self.before is None else min(self.at, self.before.planned_at)

    @property
    def accounts(self) -> frozenset[tuple[str, str]]:
        return frozenset((self.tenant, leg.account) for leg in self.legs)

    @property
    def own_actions(self) -> int:
        """The rows that no other posting touches."""
        return sum((self.after is not None, self.movement is not None, self.points))


@dataclass(frozen=True, kw_only=True, slots=True)
class Total:
    """The sum of all legs of one transaction for one account. The account must have what the taking legs take without
    what the other legs add, because DynamoDB knows no order within a transaction."""

    # The id of the account.
    account: str
    # The net change of the available money.
    available: int = 0
    # The net change of the reserved money.
    reserved: int = 0
    # The sum of the legs that take available money.
    available_taken: int = 0
    # The sum of the legs that take reserved money.
    reserved_taken: int = 0
    # True if a leg needs an account that is neither frozen nor closed.
    needs_active: bool = False
    # True if a leg needs an account that is not closed.
    needs_open: bool = False
    # The version that the account must have; None if any version will do.
    at_version: int | None = None

    @property
    def goes_both_ways(self) -> bool:
        """True if some legs take from a part of the account and others add to it."""
        return 0 < self.available_taken > -self.available or 0 < self.reserved_taken > -self.reserved


def summed(postings: Iterable[Posting]) -> dict[tuple[str, str], Total]:
    """The effect of all postings together on each account."""
    totals: dict[tuple[str, str], Total] = {}
    for posting in postings:
        for leg in posting.legs:
            key = posting.tenant, leg.account
            known = totals.get(key, Total(account=leg.account))
            totals[key] = Total(
                account=leg.account,
                available=known.available + leg.available,
                reserved=known.reserved + leg.reserved,
                available_taken=known.available_taken + max(0, -leg.available),
                reserved_taken=known.reserved_taken + max(0, -leg.reserved),
                needs_active=known.needs_active or leg.needs_active,
                needs_open=known.needs_open or leg.needs_open,
                at_version=leg.at_version if known.at_version is None else known.at_version,
            )
    return totals
