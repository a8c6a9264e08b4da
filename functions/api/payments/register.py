"""Registers payments: one, or a hundred at once.

The key's row comes first, then the payment together with what it holds of the payer's money, then the call if its slot
may be open already. A crash after the first is repaired by the caller's own retry, after the second by the closing
pass over the payment's slot. Keys are kept for ever, and so are payments.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime

from functions.api import calls, idempotency
from functions.api.refusals import frozen, refusal, unknown
from postdate.domain import money
from postdate.domain.account import Account, Status
from postdate.domain.errors import PostdateError
from postdate.domain.item import Phase
from postdate.domain.payment import KIND, Funding, Payment
from postdate.domain.posting import Posting
from postdate.domain.slots import ShardPlan, item_id
from postdate.domain.sweeping import Horizon
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.ledger import Ledger

_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A request that was understood. What speaks against it now counts only while its payment was never written: an
    answer that was given once is given again, whatever has happened to the instant or the accounts since."""

    payer: str
    payee: str
    amount: int
    funding: Funding
    due_at: datetime
    instant_field: str
    description: str | None
    metadata: tuple[tuple[str, str], ...]
    idempotency_key: str
    fingerprint: str
    refusal: PostdateError | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Registered:
    """The payment as it was when it was registered; `replayed` when that was an earlier request with the same key."""

    payment: Payment
    replayed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """What an order stands for, not yet known to be written. `found` says that its key stood for it before."""

    order: Order
    posting: Posting
    payment: Payment
    found: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Registrar:
    ledger: Ledger
    reservations: Reservations
    queue: Queue
    plan: ShardPlan
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]

    def register(self, tenant: str, orders: Sequence[Order]) -> list[Registered | PostdateError]:
        """One answer an order, in their order; what is wrong with one touches no other."""
        drafts = self._drafts(tenant, orders, self.clock.now())
        refused = self._write(tenant, {each.payment.id: each for each in drafts if isinstance(each, _Draft)})
        return [
            draft
            if isinstance(draft, PostdateError)
            else refused.get(draft.payment.id) or Registered(payment=draft.payment, replayed=draft.found)
            for draft in drafts
        ]

    def _drafts(self, tenant: str, orders: Sequence[Order], now: datetime) -> list[_Draft | PostdateError]:
        """Keys are reserved side by side, the orders with one and the same key one after the other."""
        places = defaultdict[str, list[int]](list)
        for place, order in enumerate(orders):
            places[order.idempotency_key].append(place)

        def drafted(group: Sequence[int]) -> list[tuple[int, _Draft | PostdateError]]:
            return [(place, self._draft(tenant, orders[place], now)) for place in group]

        with ThreadPoolExecutor(min(_AT_ONCE, len(places))) as pool:
            drafts = dict(pair for pairs in pool.map(drafted, places.values()) for pair in pairs)
        return [drafts[place] for place in range(len(orders))]

    def _draft(self, tenant: str, order: Order, now: datetime) -> _Draft | PostdateError:
        try:
            return self._reserved(tenant, order, now)
        except PostdateError as error:
            return error

    def _reserved(self, tenant: str, order: Order, now: datetime) -> _Draft:
        key = f"pay {order.idempotency_key}"
        if order.refusal is not None:
            held = idempotency.answered_before(
                self.reservations,
                tenant,
                key,
                fingerprint=order.fingerprint,
                refusal=order.refusal,
                written=self._is_written,
            )
            return _draft(tenant, order, held, now, found=True)
        unique = self.unique()
        wanted = Reservation(
            tenant=tenant,
            key=key,
            fingerprint=order.fingerprint,
            item_id=item_id(KIND, self.plan.slot(order.due_at, unique), unique),
            due_at=order.due_at,
            created_at=now,
            keep_until=None,
        )
        held = idempotency.stands_for(self.reservations, wanted, now=now, written=self._is_written)
        return _draft(tenant, order, held, now, found=held is not wanted)

    def _is_written(self, id: str) -> bool:
        return self.ledger.payment(id) is not None

    def _write(self, tenant: str, drafts: Mapping[str, _Draft]) -> dict[str, PostdateError]:
        """Why payments are not registered, by their ids; those that are get their calls."""
        found = [id for id, draft in drafts.items() if draft.found]
        stored = self.ledger.payments(found) if found else {}
        missing = [draft for id, draft in drafts.items() if id not in stored]
        refused = self._refused(tenant, missing)
        asked = [draft for draft in missing if draft.payment.id not in refused]
        answers = self.ledger.post([draft.posting for draft in asked]) if asked else []
        for draft, posted in zip(asked, answers, strict=True):
            if error := refusal(posted):
                refused[draft.payment.id] = error
        waiting = [payment for payment in stored.values() if payment.phase is Phase.WAITS]
        written = [draft.payment for draft in asked if draft.payment.id not in refused]
        calls.send([*waiting, *written], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return refused

    def _refused(self, tenant: str, drafts: Sequence[_Draft]) -> dict[str, PostdateError]:
        if not drafts:
            return {}
        named = {account for draft in drafts for account in (draft.order.payer, draft.order.payee)}
        accounts = self.ledger.accounts(tenant, named)
        found = {draft.payment.id: _objection(draft, accounts) for draft in drafts}
        return {id: error for id, error in found.items() if error is not None}


def _objection(draft: _Draft, accounts: Mapping[str, Account]) -> PostdateError | None:
    for id in (draft.order.payer, draft.order.payee):
        if id not in accounts:
            return unknown(id)
    for id in (draft.order.payer, draft.order.payee):
        if accounts[id].status is Status.FROZEN:
            return frozen(id)
    limits, payment = accounts[draft.order.payer].limits, draft.payment
    try:
        limits.check_amount(payment.amount)
        limits.check_delay(payment.planned_at - payment.created_at, field=draft.order.instant_field)
    except PostdateError as error:
        return error
    return None


def _draft(tenant: str, order: Order, held: Reservation, now: datetime, *, found: bool) -> _Draft:
    """What was answered the first time follows from the request, which is the same, and from what its key kept. What is
    written now is written now, for the closing pass."""
    posting = money.register(
        id=held.item_id,
        tenant=tenant,
        payer=order.payer,
        payee=order.payee,
        amount=order.amount,
        funding=order.funding,
        due_at=held.due_at,
        now=held.created_at,
        description=order.description,
        metadata=order.metadata,
    )
    assert posting.after is not None  # noqa: S101 (it is what a registration makes)
    written = replace(posting, at=now, after=replace(posting.after, moved_at=now))
    return _Draft(order=order, posting=written, payment=posting.after, found=found)
