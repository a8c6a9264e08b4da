"""The store of money: accounts, payments and the journal. Only whole postings change them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

from postdate.domain.account import Account, Limits, Status
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment, State
from postdate.domain.posting import Posting


class PostingAnswer(Enum):
    """The answer to one posting.

    STALE: the payment or the account has changed since the decision, or the row to be added is there already. SHORT,
    FROZEN, CLOSED and UNKNOWN speak of an account. REFUSED will not change by itself: a person has to look.
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
    # The answer.
    answer: PostingAnswer
    # The account that refused; None for other answers.
    account: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentsWanted:
    """The filter of a list of payments, which is in the order of scheduled instants."""

    # The owner.
    tenant: str
    # Payer or payee; None for payments of all accounts.
    account: str | None = None
    # None for payments of every state.
    state: State | None = None
    # The first scheduled instant; None for no bound.
    since: datetime | None = None
    # The first scheduled instant that is left out; None for no bound.
    until: datetime | None = None
    # True to turn the order round.
    newest_first: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedPayment:
    """An entry of an index of payments."""

    # The place of the entry: the next page goes on behind it.
    place: str
    # The id of the payment.
    id: str
    # Payer and payee; None if the index does not have them.
    accounts: tuple[str, str] | None = None


class Ledger(Protocol):
    def account(self, tenant: str, id: str) -> Account | None:
        """The account, by a consistent read; None if there is none."""

    def accounts(self, tenant: str, ids: Iterable[str]) -> dict[str, Account]:
        """Returns those that exist, by a consistent read."""

    def accounts_listed(self, tenant: str, *, after: str, limit: int, prefix: str = "") -> list[str]:
        """Ids of a tenant's accounts that begin with `prefix`, in their own order, a moment behind the truth."""

    def open(self, account: Account) -> bool:
        """False when there is an account of that name already."""

    def open_all(self, accounts: Sequence[Account]) -> set[str]:
        """The ids of those that were not there and are now. At most 100 accounts, each of another name."""

    def set_status(
        self, tenant: str, id: str, status: Status, *, now: datetime, version: int | None = None
    ) -> Account | None:
        """Sets the status of an account that has another one, is not closed, and has that version if one is named.
        Returns the account as it is then, changed or not; None when there is none."""

    def close(self, tenant: str, id: str, *, now: datetime, version: int | None = None) -> Account | None:
        """Closes an account that has nothing available and nothing reserved, and has that version if one is named.
        Returns the account as it is then, closed or not; None when there is none."""

    def set_limits(
        self, account: Account, limits: Limits, *, now: datetime, version: int | None = None
    ) -> Account | None:
        """Changes the limits of an account that still has those of `account`, is not closed, and has that version if
        one is named. Returns the account as it is then, changed or not; None when there is none."""

    def payment(self, id: str) -> Payment | None:
        """The payment, by a consistent read; None if there is none."""

    def payments(self, ids: Iterable[str]) -> dict[str, Payment]:
        """Returns those that exist, by a consistent read."""

    def payments_listed(self, wanted: PaymentsWanted, *, after: str, limit: int) -> list[ListedPayment]:
        """One page of a list, in its order, from an index that is a moment behind. A page with fewer than `limit`
        entries is the last one. The payment of an entry may have changed since, so the caller reads and filters the
        payments.

        A payment that is given another instant leaves its place before it has the new one. Such a change also changes
        its payer's version."""

    def post(self, postings: Sequence[Posting], *, together: bool = False) -> list[Posted]:
        """Writes each posting whole or not at all, those that share accounts together. A posting that is refused spoils
        no other. The answers are those that the postings would have one by one, in the order of their instants. A
        payment may stand in one of them only.

        With `together` postings that share no account go together too: fewer requests, for a caller that is behind. If
        such a transaction is refused, its parts are written one by one."""

    def movements(
        self, tenant: str, account: str, *, after: str, limit: int, whole: bool = False
    ) -> list[Movement]:
        """The journal of an account, both directions, in the order in which it was written, behind the place `after`; a
        moment behind the truth. Fewer than `limit` are the last ones. A commit that is under way may still write
        before the last of them, unless the journal is `closed` up to there.

        A movement that this code cannot read is left out, or raises Unreadable if the journal has to be `whole`."""

    def close_journal(self, tenant: str, account: str, place: str) -> None:
        """Closes the journal of an account up to this place. A commit that was decided earlier and comes later is
        written behind the place."""

    def has(self, movement: Movement) -> bool:
        """True if the movement is written, by its own key."""

    def movements_of(self, payments: Iterable[Payment]) -> list[Movement]:
        """The movements that exist now for these payments. Raises Unreadable for a movement that this code cannot
        read."""
