"""Mends a tenant's money after a restore, a few accounts at a time.

First `match` for all accounts, again while it opens any, then `balance` for all: a balance follows from movements
that the first step may have written at another account. Each step may be repeated, and each page goes on where the
one before ended. Nothing else may change money meanwhile: settlements and requests are stopped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from postdate.domain.account import Account
from postdate.domain.errors import Conflict, Unavailable
from postdate.domain.invariants import Books
from postdate.domain.mending import Mended, Restored, balanced, left_to_a_person, matched
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment
from postdate.domain.posting import Posting
from postdate.domain.retention import archived, may_be_archived
from postdate.recovery.watermark import CLOCKS_APART
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger, PaymentsWanted, PostingAnswer

ACCOUNTS_IN_TURN: Final = 20
_PAGE: Final = 1000
# The author of the changes that a recovery makes.
_AUTHOR: Final = "operation:recovery"
# Fewer postings than fit into one transaction, so that other writers disturb it less.
_TOGETHER: Final = 25
# An index may be behind what was written just before: accounts that differ are read again after this time.
_SETTLES: Final = timedelta(seconds=5)


@dataclass(kw_only=True, slots=True)
class MoneyReport:
    """The ids of what was repaired, or in a dry run of what would be."""

    # Payments that a movement completed.
    completed: list[str] = field(default_factory=list)
    # Payments that were made anew from their movements.
    rebuilt: list[str] = field(default_factory=list)
    # Movements that completed payments lacked.
    movements: list[str] = field(default_factory=list)
    # Accounts that were named and missing.
    opened: list[str] = field(default_factory=list)
    # Accounts that now agree with their journal.
    adjusted: list[str] = field(default_factory=list)
    # Open payments of unsound accounts, left to a person.
    parked: list[str] = field(default_factory=list)
    # Accounts that a person has to look at, each with the reason.
    unsound: dict[str, str] = field(default_factory=dict)
    # The account behind which the next page begins; None after the last account.
    goes_on_after: str | None = None

    def add(self, page: "MoneyReport") -> None:
        self.completed += page.completed
        self.rebuilt += page.rebuilt
        self.movements += page.movements
        self.opened += page.opened
        self.adjusted += page.adjusted
        self.parked += page.parked
        self.unsound |= page.unsound


@dataclass(frozen=True, kw_only=True, slots=True)
class Money:
    ledger: Ledger
    clock: Clock
    # The tables that were restored, and the instant that they show.
    restored: Restored
    # True to write nothing.
    dry: bool = False

    def match(self, tenant: str, *, after: str = "") -> MoneyReport:
        """Makes payments and movements agree, and opens accounts that are named and not there."""
        told, names = self._page(tenant, after)
        for name in names:
            account = self.ledger.account(tenant, name)
            if account is None or self._is_untouched(account):
                continue
            books = self._books(account)
            if self.restored.accounts_follow:
                told.opened += self._open_missing(books)
            for posting in matched(books, self.restored, now=self.clock.now()):
                self._note(posting, told)
                self._post([posting])
        return told

    def balance(self, tenant: str, *, after: str = "") -> MoneyReport:
        """Makes accounts agree with journal and payments, or leaves their open payments to a person."""
        told, names = self._page(tenant, after)
        differing = [name for name in names if self._differs(tenant, name)]
        if differing:
            self.clock.sleep_until(self.clock.now() + _SETTLES)
        for name in differing:
            account = self.ledger.account(tenant, name)
            if account is not None:
                self._balance(account, told)
        return told

    def _differs(self, tenant: str, name: str) -> bool:
        account = self.ledger.account(tenant, name)
        if account is None or self._is_untouched(account):
            return False
        return balanced(self._books(account), self.restored, now=self.clock.now()) != Mended()

    def _balance(self, account: Account, told: MoneyReport) -> None:
        """Repairs one account, or leaves its open payments to a person."""
        books = self._books(account)
        mended = balanced(books, self.restored, now=self.clock.now())
        if mended.posting is not None:
            told.adjusted.append(account.id)
            self._post([mended.posting])
        elif mended.unsound is not None:
            told.unsound[account.id] = mended.unsound
            postings = left_to_a_person(books, self.restored, now=self.clock.now())
            told.parked += [posting.after.id for posting in postings if posting.after is not None]
            self._post(postings)

    def _page(self, tenant: str, after: str) -> tuple[MoneyReport, list[str]]:
        names = self.ledger.accounts_listed(tenant, after=after, limit=ACCOUNTS_IN_TURN)
        return MoneyReport(goes_on_after=names[-1] if len(names) == ACCOUNTS_IN_TURN else None), names

    def _is_untouched(self, account: Account) -> bool:
        """Every step of a payment that holds, and every movement, changes its account. One that stood still since the
        instant lost nothing."""
        return not self.restored.accounts_follow and account.updated_at < self.restored.since - CLOCKS_APART

    def _open_missing(self, books: Books) -> list[str]:
        """Opens the missing accounts. Their limits and their freeze are lost."""
        tenant, now = books.account.tenant, self.clock.now()
        missing = _named(books) - self.ledger.accounts(tenant, _named(books)).keys()
        if not self.dry:
            for name in missing:
                self.ledger.open(Account(id=name, tenant=tenant, created_at=now, updated_at=now))
        return sorted(missing)

    def _note(self, posting: Posting, told: MoneyReport) -> None:
        if posting.movement is not None:
            told.movements.append(posting.movement.id)
        elif posting.after is not None:
            (told.rebuilt if posting.before is None else told.completed).append(posting.after.id)

    def _post(self, postings: list[Posting]) -> None:
        """Raises Conflict when something else changes money at the same time, and Unavailable."""
        if self.dry:
            return
        for start in range(0, len(postings), _TOGETHER):
            signed = [posting.signed(_AUTHOR) for posting in postings[start : start + _TOGETHER]]
            for posted in self.ledger.post(signed):
                if posted.answer is PostingAnswer.UNAVAILABLE:
                    raise Unavailable
                if posted.answer is not PostingAnswer.DONE:
                    raise Conflict(
                        f"a posting was answered {posted.answer.name}: does something else move money?"
                    )

    def _books(self, account: Account) -> Books:
        """Read as a whole, so the account stands still meanwhile: the caller's posting is on its version."""
        movements, payments = tuple(self._movements(account)), tuple(self._payments(account))
        return Books(
            account=account,
            payments=payments,
            movements=movements,
            archived=archived(movements, payments, now=self.clock.now()),
        )

    def _payments(self, account: Account) -> Iterator[Payment]:
        after, wanted = "", PaymentsWanted(tenant=account.tenant, account=account.id)
        while listed := self.ledger.payments_listed(wanted, after=after, limit=_PAGE):
            ids = [each.id for each in listed]
            found = self.ledger.payments(ids)
            missing = {id for id in set(ids) - found.keys() if not may_be_archived(id, self.clock.now())}
            if missing:
                raise Unavailable(f"payments that are listed cannot be read: {_some(missing)}")
            yield from found.values()
            after = listed[-1].place

    def _movements(self, account: Account) -> Iterator[Movement]:
        after = ""
        while page := self.ledger.movements(account.tenant, account.id, after=after, limit=_PAGE):
            yield from page
            after = page[-1].place


def _named(books: Books) -> set[str]:
    of_payments = {name for each in books.payments for name in (each.payer, each.payee)}
    return of_payments | {name for each in books.movements for name in (each.payer, each.payee) if name}


def _some(ids: Iterable[str]) -> str:
    return ", ".join(sorted(ids)[:5])
