"""Checks a tenant's money account by account, for `GET /api/v1/audit` and for the nightly reconciliation.

No payment stops for the audit. It reads the account's row, its payments and movements, and the row again; they are
judged if the version is the same. An account that changed, or does not look sound, is read again with pauses of 3
seconds in all, because an index may be behind. A payment or movement that only one index shows is read by its key. A
row that neither index shows after the last try is reported as wrong.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import Final

from postdate.domain.errors import Unreadable
from postdate.domain.invariants import Books, Check, checks, is_sound
from postdate.domain.movement import Movement
from postdate.domain.payment import Payment, State
from postdate.domain.retention import archived, may_be_archived
from postdate.runtime.clock import Clock
from postdate.stores.ledger import Ledger, ListedPayment, PaymentsWanted

PAUSES: Final = tuple(timedelta(milliseconds=each) for each in (200, 400, 800, 1600))
TIME: Final = timedelta(seconds=15)
_PAGE: Final = 1000
# BatchGetItem takes 100 keys.
_READ_BY_KEY: Final = 100
_ACCOUNTS_IN_TURN: Final = 20
_AT_ONCE: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Audited:
    """The result of one audit."""

    # The invariants over all accounts that could be judged.
    checks: list[Check]
    # The number of accounts that were looked at.
    accounts: int
    # Accounts that changed during each look, so nothing can be said of them.
    moving: list[str]
    # Accounts with more payments and movements than there was time for, or with a row that only newer code reads.
    unread: list[str]
    # The account behind which another audit goes on; None if all were looked at.
    goes_on_after: str | None


class _Unread(Exception):
    """The account cannot be judged: it has more rows than there is time for, or one that this code cannot read."""


@dataclass(kw_only=True, slots=True)
class _Seen:
    # The instant at which the waiting caller gets the answer.
    ends_at: datetime
    # Accounts that stood still while they were read.
    books: list[Books] = field(default_factory=list)
    # Accounts that did not stand still, and accounts that could not be read; as in `Audited`.
    moving: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class Auditor:
    ledger: Ledger
    clock: Clock

    def audit(self, tenant: str, *, after: str = "") -> Audited:
        seen, last = _Seen(ends_at=self.clock.now() + TIME), after
        while names := self.ledger.accounts_listed(tenant, after=last, limit=_ACCOUNTS_IN_TURN):
            self._look(tenant, names, seen)
            last = names[-1]
            if self.clock.now() > seen.ends_at:
                break
        # Accounts that the index lacks can be told only if it was read from end to end.
        if not (after or names):
            self._look(tenant, _not_listed(seen), seen)
        # Money that moves between accounts cancels out only over all of them, at one moment.
        whole = not (after or names or seen.moving or seen.unread) and self._stood_still(tenant, seen.books)
        return Audited(
            checks=checks(seen.books, whole=whole),
            accounts=len(seen.books) + len(seen.moving) + len(seen.unread),
            moving=seen.moving,
            unread=seen.unread,
            goes_on_after=last if names else None,
        )

    def judged(self, tenant: str, name: str) -> Books | None:
        """Returns the books of one account, sound or not; None if they cannot be read as a whole now."""
        return self.judged_all(tenant, [name])[name]

    def judged_all(self, tenant: str, names: list[str]) -> dict[str, Books | None]:
        """Judges several accounts at once, as `judged` does one."""
        seen = _Seen(ends_at=self.clock.now() + TIME)
        self._look(tenant, names, seen)
        found = {each.account.id: each for each in seen.books}
        return {name: found.get(name) for name in names}

    def _stood_still(self, tenant: str, books: list[Books]) -> bool:
        """True if no account changed since its books were read. Otherwise money that moved from one account to another
        in between would be seen twice, or not at all."""
        versions = {each.account.id: each.account.version for each in books}
        now = self.ledger.accounts(tenant, versions)
        return versions == {id: account.version for id, account in now.items()}

    def _look(self, tenant: str, names: list[str], seen: _Seen) -> None:
        """Reads accounts up to five times, with pauses, until each is sound. An account that is not sound and has the
        same version at its last two readings is wrong. An account that changed between them is `moving`."""
        left: dict[str, Books | None] = dict.fromkeys(names)
        before = left
        for pause in (timedelta(0), *PAUSES):
            if not left or self.clock.now() > seen.ends_at:
                break
            self.clock.sleep_until(self.clock.now() + pause)
            before, left = left, {}
            with ThreadPoolExecutor(_AT_ONCE) as readers:
                read = partial(self._read, tenant, ends_at=seen.ends_at)
                for name, found in zip(before, readers.map(read, before), strict=True):
                    if isinstance(found, _Unread):
                        seen.unread.append(name)
                    elif found is not None and is_sound(found):
                        seen.books.append(found)
                    else:
                        left[name] = found
        for name, found in left.items():
            known = before[name]
            # Equal versions at the last two looks: the account stood still, and is wrong.
            if found is not None and known is not None and found.account.version == known.account.version:
                seen.books.append(found)
            else:
                seen.moving.append(name)

    def _read(self, tenant: str, name: str, *, ends_at: datetime) -> Books | _Unread | None:
        try:
            return self._books(tenant, name, ends_at)
        except _Unread as error:
            return error
        except Unreadable:
            return _Unread()

    def _books(self, tenant: str, name: str, ends_at: datetime) -> Books | None:
        """The books of one account; None when the account changed while it was read."""

        wanted = PaymentsWanted(tenant=tenant, account=name)

        def listed(after: str) -> list[ListedPayment]:
            found = self.ledger.payments_listed(wanted, after=after, limit=_PAGE)
            if self.clock.now() > ends_at:
                raise _Unread
            return found

        # The account is read first and last: an equal version means that no posting came between.
        before = self.ledger.account(tenant, name)
        movements = list(self._movements(tenant, name, ends_at))
        payments = list({each.id: each for each in self._payments(_pages(listed))}.values())
        movements += self._not_listed(movements, payments, ends_at)
        payments += self._not_listed_payments(movements, payments)
        account = self.ledger.account(tenant, name)
        if before is None or account is None or before.version != account.version:
            return None
        return Books(
            account=account,
            payments=tuple(payments),
            movements=tuple(movements),
            archived=archived(movements, payments, now=self.clock.now()),
        )

    def _payments(self, pages: Iterator[list[str]]) -> Iterator[Payment]:
        """Reads the payments of these pages of ids by their keys. Raises _Unread if a listed payment has no row that
        this code can read, and is too young to be archived. The account then counts as unread."""
        for ids in pages:
            found = self.ledger.payments(ids)
            # The index may still list a payment whose row the archive removed. Such a payment is left out.
            if any(not may_be_archived(id, self.clock.now()) for id in set(ids) - found.keys()):
                raise _Unread
            yield from found.values()

    def _not_listed(
        self, movements: list[Movement], payments: list[Payment], ends_at: datetime
    ) -> Iterator[Movement]:
        """Movements of completed payments that the journal's index does not show yet."""
        known = {movement.payment_id for movement in movements}
        left = iter([each for each in payments if each.state is State.COMPLETED and each.id not in known])
        while some := list(islice(left, _READ_BY_KEY)):
            if self.clock.now() > ends_at:
                raise _Unread
            yield from self.ledger.movements_of(some)

    def _not_listed_payments(self, movements: list[Movement], payments: list[Payment]) -> Iterable[Payment]:
        """Payments with a movement that the payments' index does not show yet."""
        known = {payment.id for payment in payments}
        ids = {each.payment_id for each in movements if each.payment_id is not None} - known
        return self.ledger.payments(sorted(ids)).values() if ids else ()

    def _movements(self, tenant: str, name: str, ends_at: datetime) -> Iterator[Movement]:
        after = ""
        while page := self.ledger.movements(tenant, name, after=after, limit=_PAGE, whole=True):
            if self.clock.now() > ends_at:
                raise _Unread
            yield from page
            if len(page) < _PAGE:
                break
            after = page[-1].place


def _not_listed(seen: _Seen) -> list[str]:
    """Accounts that money went to and that their index does not show yet."""
    known = {each.account.id for each in seen.books} | {*seen.moving, *seen.unread}
    named = {
        name
        for each in seen.books
        for movement in each.movements
        for name in (movement.payer, movement.payee)
    }
    return sorted(name for name in named - known if name is not None)


def _pages(page: Callable[[str], list[ListedPayment]]) -> Iterator[list[str]]:
    after = ""
    while found := page(after):
        yield [each.id for each in found]
        if len(found) < _PAGE:
            break
        after = found[-1].place
