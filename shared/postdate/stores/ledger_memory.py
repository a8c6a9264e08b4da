"""Money in dictionaries: the twin of `DynamoLedger` for tests of the rules, held to the same contract."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from postdate.domain import instants
from postdate.domain.account import Account, Limits, Status
from postdate.domain.movement import Movement, behind, payment_movement_id, place_at
from postdate.domain.packing import in_order
from postdate.domain.payment import Payment
from postdate.domain.posting import Leg, Posting
from postdate.domain.slots import ShardPlan, Slot, home, unique_part
from postdate.domain.tally import Fared
from postdate.stores.ledger import ListedPayment, PaymentsWanted, Posted, PostingAnswer
from postdate.stores.timetable import TimetableEntry


class MemoryLedger:
    def __init__(self, *, shards: ShardPlan) -> None:
        self._shards = shards
        self._accounts: dict[tuple[str, str], Account] = {}
        self._payments: dict[str, Payment] = {}
        self._movements: dict[str, Movement] = {}
        self._pointers: dict[Slot, list[TimetableEntry]] = {}

    def account(self, tenant: str, id: str) -> Account | None:
        return self._accounts.get((tenant, id))

    def accounts(self, tenant: str, ids: Iterable[str]) -> dict[str, Account]:
        return {id: self._accounts[tenant, id] for id in ids if (tenant, id) in self._accounts}

    def accounts_listed(self, tenant: str, *, after: str, limit: int, prefix: str = "") -> list[str]:
        own = [id for owner, id in self._accounts if owner == tenant]
        return sorted(id for id in own if id > after and id.startswith(prefix))[:limit]

    def open(self, account: Account) -> bool:
        is_new = (account.tenant, account.id) not in self._accounts
        self._accounts.setdefault((account.tenant, account.id), account)
        return is_new

    def open_all(self, accounts: Sequence[Account]) -> set[str]:
        return {account.id for account in accounts if self.open(account)}

    def set_status(
        self, tenant: str, id: str, status: Status, *, now: datetime, version: int | None = None
    ) -> Account | None:
        account = self._accounts.get((tenant, id))
        if account is None or account.status in (status, Status.CLOSED):
            return account
        return self._changed(account, now, status=status) if _is_at(account, version) else account

    def close(self, tenant: str, id: str, *, now: datetime, version: int | None = None) -> Account | None:
        account = self._accounts.get((tenant, id))
        if account is None or account.balance or account.status is Status.CLOSED:
            return account
        return self._changed(account, now, status=Status.CLOSED) if _is_at(account, version) else account

    def set_limits(
        self, account: Account, limits: Limits, *, now: datetime, version: int | None = None
    ) -> Account | None:
        stored = self._accounts.get((account.tenant, account.id))
        if stored is None or stored.limits != account.limits or stored.status is Status.CLOSED:
            return stored
        return self._changed(stored, now, limits=limits) if _is_at(stored, version) else stored

    def _changed(self, account: Account, now: datetime, **changes: Any) -> Account:
        changed = replace(account, version=account.version + 1, updated_at=now, **changes)
        self._accounts[account.tenant, account.id] = changed
        return changed

    def payment(self, id: str) -> Payment | None:
        home(id)
        return self._payments.get(id)

    def payments(self, ids: Iterable[str]) -> dict[str, Payment]:
        return {id: self._payments[id] for id in ids if id in self._payments}

    def payments_listed(self, wanted: PaymentsWanted, *, after: str, limit: int) -> list[ListedPayment]:
        found = {
            f"{instants.milliseconds(each.planned_at):013d}{each.id}": each.id
            for each in self._payments.values()
            if each.tenant == wanted.tenant
            and wanted.account in (None, each.payer, each.payee)
            and wanted.state in (None, each.state)
            and (wanted.since is None or wanted.since <= each.planned_at)
            and (wanted.until is None or each.planned_at < wanted.until)
        }
        places = sorted(found, reverse=wanted.newest_first)
        left = [
            place
            for place in places
            if not after or (place < after if wanted.newest_first else place > after)
        ]
        return [ListedPayment(place=place, id=found[place]) for place in left[:limit]]

    def movements(
        self, tenant: str, account: str, *, after: str, limit: int, whole: bool = False
    ) -> list[Movement]:
        found = [
            each
            for each in self._movements.values()
            if each.tenant == tenant and account in (each.payer, each.payee) and each.place > after
        ]
        return sorted(found, key=lambda each: each.place)[:limit]

    def close_journal(self, tenant: str, account: str, place: str) -> None:
        known = self._accounts[tenant, account]
        read_to = max(place, known.journal_read_to)
        self._accounts[tenant, account] = replace(known, journal_read_to=read_to)

    def has(self, movement: Movement) -> bool:
        return movement.id in self._movements

    def movements_of(self, payments: Iterable[Payment]) -> list[Movement]:
        ids = {payment_movement_id(payment.id) for payment in payments}
        return [self._movements[id] for id in ids if id in self._movements]

    def due_in(self, slot: Slot, *, fared: bool = False) -> Iterator[TimetableEntry]:
        yield from [_entry(each, fared) for each in self._payments.values() if each.home == slot]
        yield from list(self._pointers.get(slot, ()))

    def entries(self, ids: Iterable[str], *, fared: bool = False) -> dict[str, TimetableEntry]:
        return {id: _entry(each, fared) for id, each in self.payments(ids).items()}

    def post(self, postings: Sequence[Posting], *, together: bool = False) -> list[Posted]:
        answers = {id(posting): self._post(posting) for posting in in_order(postings)}
        return [answers[id(posting)] for posting in postings]

    def _post(self, posting: Posting) -> Posted:
        before, after, movement = posting.before, posting.after, posting.movement
        if after is not None and self._payments.get(after.id) != before:
            return Posted(answer=PostingAnswer.STALE)
        if movement is not None and movement.id in self._movements:
            return Posted(answer=PostingAnswer.STALE)
        for leg in posting.legs:
            if refusal := self._refusal(posting.tenant, leg):
                return Posted(answer=refusal, account=leg.account)
        for leg in posting.legs:
            account = self._accounts[posting.tenant, leg.account]
            self._accounts[posting.tenant, leg.account] = replace(
                account,
                available=account.available + leg.available,
                reserved=account.reserved + leg.reserved,
                version=account.version + 1,
                updated_at=posting.at,
            )
        if after is not None:
            self._payments[after.id] = after
            if posting.points:
                slot = self._shards.slot(after.due_at, unique_part(after.id))
                pointer = replace(_entry(after, False), phase=None, lease_until=None, accounts=())
                self._pointers.setdefault(slot, []).append(pointer)
        if movement is not None:
            self._movements[movement.id] = replace(movement, place=self._place(movement, posting))
        return Posted(answer=PostingAnswer.DONE)

    def _place(self, movement: Movement, posting: Posting) -> str:
        """Behind what anybody has read of its accounts' journals."""
        accounts = [
            self._accounts.get((movement.tenant, name or "")) for name in (movement.payer, movement.payee)
        ]
        read = [
            behind(account.journal_read_to) for account in accounts if account and account.journal_read_to
        ]
        return place_at(max([instants.milliseconds(posting.at), *read]), movement.id)

    def _refusal(self, tenant: str, leg: Leg) -> PostingAnswer | None:
        account = self._accounts.get((tenant, leg.account))
        if account is None:
            return PostingAnswer.UNKNOWN
        if leg.at_version is not None and account.version != leg.at_version:
            return PostingAnswer.STALE
        if account.status is Status.CLOSED and (leg.needs_active or leg.needs_open):
            return PostingAnswer.CLOSED
        if leg.needs_active and account.status is Status.FROZEN:
            return PostingAnswer.FROZEN
        if account.available + leg.available < 0 or account.reserved + leg.reserved < 0:
            return PostingAnswer.SHORT
        return None


def _is_at(account: Account, version: int | None) -> bool:
    return version in (None, account.version)


def _entry(payment: Payment, fared: bool) -> TimetableEntry:
    how = Fared.of_payment(payment) if fared else None
    return TimetableEntry.of(payment, payment.payer, payment.payee, fared=how)
