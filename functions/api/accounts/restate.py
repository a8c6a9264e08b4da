"""Sets an account to what its journal and its payments say, when a person has decided that they are right.

The account's movements and payments are found by indexes, which may be behind. So the account must not have changed for
some minutes: by then every index has heard of the last change. It is looked at twice, some seconds apart, and only what
both looks agree about is added, and only to the very version that was looked at. The movement is an ADJUSTMENT of
nothing, whose reason tells what was added. The key's row comes first and fixes the movement's id; a crash between the
two is repaired by the caller's own retry, which makes the same movement, and the ledger takes it once.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from functions.api import idempotency
from functions.api.accounts.deposit import Moved
from functions.api.accounts.find import find
from functions.api.refusals import refusal
from postdate.domain.account import Account
from postdate.domain.errors import InvalidState, PostdateError, Unavailable
from postdate.domain.invariants import Books
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.posting import Leg, Posting
from postdate.runtime.clock import Clock
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.ledger import Ledger, PostingAnswer
from postdate.use_cases.auditing import Auditor

BETWEEN: Final = timedelta(seconds=5)
# Far above what an index is behind, what two clocks differ by, and how long a commit may follow its decision.
QUIET: Final = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True, slots=True)
class Restater:
    ledger: Ledger
    reservations: Reservations
    auditor: Auditor
    clock: Clock
    unique: Callable[[], bytes]

    def restate(self, tenant: str, name: str, *, reason: str, key: str, fingerprint: str) -> Moved:
        find(self.ledger, tenant, name)
        now = self.clock.now()
        wanted = Reservation(
            tenant=tenant,
            key=f"adjustment {key}",
            fingerprint=fingerprint,
            item_id=movement_id(now, self.unique().hex()),
            due_at=now,
            created_at=now,
            keep_until=None,
        )
        # True in any case: a repetition keeps the id and the instant of the first request.
        reservation = idempotency.stands_for(self.reservations, wanted, now=now, written=lambda _: True)
        movement = Movement(
            id=reservation.item_id,
            tenant=tenant,
            type=Type.ADJUSTMENT,
            payer=None,
            payee=name,
            amount=0,
            at=reservation.created_at,
            reason=reason,
        )
        replayed = reservation is not wanted
        # A repeated request must not look for a difference that it has added itself.
        if not (replayed and self.ledger.has(movement)):
            self._add_difference(movement, to=name)
        return Moved(movement=movement, replayed=replayed)

    def _add_difference(self, movement: Movement, *, to: str) -> None:
        """Makes a movement over the difference. A refusal counts only if no other request with the same key has made
        the movement meanwhile."""
        try:
            self._make(movement, self._difference(movement.tenant, to))
        except PostdateError:
            if not self.ledger.has(movement):
                raise

    def _difference(self, tenant: str, name: str) -> Leg:
        """The difference between an account and its journal. Two readings some time apart have to show the same one: an
        index that is behind would show a difference of its own."""
        began = self.clock.now()
        books = self._books(tenant, name)
        first = _missing(books)
        if not (first.available or first.reserved):
            raise InvalidState(books.account.status, f"the account {name} already agrees with its journal")
        _refuse_if_changed(books.account, since=began - QUIET)
        self.clock.sleep_until(self.clock.now() + BETWEEN)
        books = self._books(tenant, name)
        if _missing(books) != first:
            _refuse_if_changed(books.account, since=began - QUIET)
            raise Unavailable(f"an index is behind the account {name}")
        return first

    def _books(self, tenant: str, name: str) -> Books:
        books = self.auditor.judged(tenant, name)
        if books is None:
            _refuse_if_changed(find(self.ledger, tenant, name), since=self.clock.now() - QUIET)
            raise Unavailable(f"the account {name} keeps changing, or cannot be read as a whole")
        return books

    def _make(self, movement: Movement, leg: Leg) -> None:
        """Writes the adjustment. Raises InvalidState if the account keeps changing, and the reason of any other
        refusal."""
        told = f"{movement.reason} (available {leg.available:+}, reserved {leg.reserved:+})"
        posting = Posting(
            tenant=movement.tenant, at=self.clock.now(), legs=(leg,), movement=replace(movement, reason=told)
        )
        (posted,) = self.ledger.post([posting])
        if posted.answer is PostingAnswer.STALE:
            raise _keeps_changing(find(self.ledger, movement.tenant, leg.account))
        if error := refusal(posted):
            raise error


def _refuse_if_changed(account: Account, *, since: datetime) -> None:
    if account.updated_at > since:
        raise _keeps_changing(account)


def _keeps_changing(account: Account) -> InvalidState:
    changed = account.updated_at.isoformat(timespec="seconds")
    minutes = QUIET // timedelta(minutes=1)
    return InvalidState(
        account.status,
        f"the account {account.id} changed at {changed}, and indexes may not show that yet: "
        f"repeat the request when it has not changed for {minutes} minutes; freeze an account that is in use",
    )


def _missing(books: Books) -> Leg:
    """The difference between an account and its books, as the leg that removes it at this version."""
    account = books.account
    return Leg(
        account=account.id,
        available=books.moved - books.held - account.available,
        reserved=books.held - account.reserved,
        needs_active=False,
        at_version=account.version,
    )
