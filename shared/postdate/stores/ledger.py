"""Where money is kept: accounts, payments and the journal, changed by whole postings and in no other way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

from postdate.domain.account import Account, Limits, Status
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment
from postdate.domain.posting import Posting


class Answer(Enum):
    """What became of one posting.

    STALE: its payment or its account is not what it was decided from, or what it was to add is there already. SHORT,
    FROZEN, CLOSED and UNKNOWN speak of an account. REFUSED will not change by itself: somebody has to look.
    """

    DONE = auto()
    STALE = auto()
    SHORT = auto()
    FROZEN = auto()
    CLOSED = auto()
    UNKNOWN = auto()
    UNAVAILABLE = auto()
    REFUSED = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Posted:
    answer: Answer
    account: str | None = None


class Ledger(Protocol):
    def account(self, tenant: str, id: str) -> Account | None:
        """As it is now."""

    def accounts(self, tenant: str, ids: Iterable[str]) -> dict[str, Account]:
        """Those of them that exist, as they are now."""

    def accounts_listed(self, tenant: str, *, after: str, limit: int, prefix: str = "") -> list[str]:
        """Ids of a tenant's accounts that begin with `prefix`, in their own order, a moment behind the truth."""

    def open(self, account: Account) -> bool:
        """False when there is an account of that name already."""

    def open_all(self, accounts: Sequence[Account]) -> set[str]:
        """The ids of those that were not there and are now. At most 100 accounts, each of another name."""

    def set_status(self, tenant: str, id: str, status: Status, *, now: datetime) -> Account | None:
        """The account as it is then; None when there is none. Twice the same is no change, and a closed account
        stays closed."""

    def close(self, tenant: str, id: str, *, now: datetime, version: int | None = None) -> Account | None:
        """Closes an account that has nothing available and nothing reserved, and has that version if one is named.
        Returns the account as it is then, closed or not; None when there is none."""

    def set_limits(
        self, account: Account, limits: Limits, *, now: datetime, version: int | None = None
    ) -> Account | None:
        """Changes the limits of an account that still has those of `account`, is not closed, and has that version if
        one is named. Returns the account as it is then, changed or not; None when there is none."""

    def payment(self, id: str) -> Payment | None:
        """As it is now."""

    def payments(self, ids: Iterable[str]) -> dict[str, Payment]:
        """Those of them that exist, as they are now."""

    def payments_listed(self, tenant: str, account: str, *, after: str, limit: int) -> list[str]:
        """Ids of the payments from and to an account in the order of their home minutes, a moment behind the truth.
        Fewer than `limit` are the last ones."""

    def post(self, postings: Sequence[Posting]) -> list[Posted]:
        """Writes each posting whole or not at all, those that share accounts together. What is wrong with one spoils
        no other. The answers are those that the postings would have one by one, in the order of their instants. A
        payment may stand in one of them only."""

    def movements(
        self, tenant: str, account: str, *, after: str, limit: int, whole: bool = False
    ) -> list[Movement]:
        """The journal of an account, both directions, in order; what it received is a moment behind the truth. Fewer
        than `limit` are the last ones.

        A movement that this code cannot read is left out, or raises Unreadable if the journal has to be `whole`."""

    def movements_of(self, payments: Iterable[Payment]) -> list[Movement]:
        """The movements that exist now for these payments. Raises Unreadable for a movement that this code cannot
        read."""
