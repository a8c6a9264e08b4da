"""Sets an account to what its journal and its payments say, when a person has decided that they are right.

What is added is the difference that was found while the account stood still; whatever moves it meanwhile moves both
sides alike, so the difference stays what it is. The movement is an ADJUSTMENT of nothing, whose reason tells what was
added; its id follows from the account's version, so two people who find the same difference add it once. The key's row
comes first; a crash after it is repaired by the caller's own retry.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from functions.api import idempotency
from functions.api.accounts.deposit import Moved
from functions.api.accounts.find import find
from functions.api.audit import Auditor
from functions.api.refusals import refusal
from postdate.domain.account import Account
from postdate.domain.errors import InvalidState, Unavailable
from postdate.domain.invariants import Books
from postdate.domain.movement import Movement, Type, movement_id
from postdate.domain.posting import Leg, Posting
from postdate.runtime.clock import Clock
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.ledger import Ledger

# Requests that find one difference make one movement, and are told apart all the same.
_REQUEST: Final = "~"


@dataclass(frozen=True, kw_only=True, slots=True)
class Restater:
    ledger: Ledger
    reservations: Reservations
    auditor: Auditor
    clock: Clock
    unique: Callable[[], bytes]

    def restate(self, tenant: str, name: str, *, reason: str, key: str, fingerprint: str) -> Moved:
        account, now = find(self.ledger, tenant, name), self.clock.now()
        wanted = Reservation(
            tenant=tenant,
            key=f"restate {key}",
            fingerprint=fingerprint,
            item_id=f"{_movement_id(account)}{_REQUEST}{self.unique().hex()}",
            due_at=now,
            created_at=now,
            keep_until=None,
        )
        held = idempotency.stands_for(self.reservations, wanted, now=now, written=lambda _: True)
        movement = Movement(
            id=held.item_id.partition(_REQUEST)[0],
            tenant=tenant,
            type=Type.ADJUSTMENT,
            payer=None,
            payee=name,
            amount=0,
            at=held.created_at,
            reason=reason,
        )
        replayed = held is not wanted
        if not (replayed and self._is_made(movement)):
            self._make(movement, self._books(tenant, name))
        return Moved(movement=movement, replayed=replayed)

    def _is_made(self, movement: Movement) -> bool:
        found = self.ledger.movements(movement.tenant, movement.payee or "", after=movement.id[:-1], limit=1)
        return any(each.id == movement.id for each in found)

    def _books(self, tenant: str, name: str) -> Books:
        books = self.auditor.judged(tenant, name)
        if books is None:
            raise Unavailable(f"the account {name} does not stand still: try again when less is paid")
        return books

    def _make(self, movement: Movement, books: Books) -> None:
        account = books.account
        leg = Leg(
            account=account.id,
            available=books.moved - books.held - account.available,
            reserved=books.held - account.reserved,
            needs_active=False,
        )
        if not (leg.available or leg.reserved):
            raise InvalidState(account.status, f"the account {account.id} is what its journal says")
        reason = f"{movement.reason} (available {leg.available:+}, reserved {leg.reserved:+})"
        told = Movement(
            id=movement.id,
            tenant=movement.tenant,
            type=movement.type,
            payer=None,
            payee=movement.payee,
            amount=0,
            at=movement.at,
            reason=reason,
        )
        posting = Posting(tenant=movement.tenant, at=self.clock.now(), legs=(leg,), movement=told)
        if error := refusal(*self.ledger.post([posting])):
            raise error


def _movement_id(account: Account) -> str:
    name = f"restate {account.tenant} {account.id} {account.version}"
    return movement_id(account.updated_at, hashlib.sha256(name.encode()).hexdigest()[:20])
