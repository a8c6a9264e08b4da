"""Registers payments: one, or a hundred at once.

The key's row comes first, then the payment together with what it holds of the payer's money, then the call if its slot
may be open already. A crash after the first is repaired by the caller's own retry, after the second by the closing
pass over the slot the payment is due in. Keys are kept for ever, and so are payments. Of two requests that have one key
and are under way at once, the payment's row takes one, and both are answered with what that one wrote.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from functions.api import calls, idempotency
from functions.api.refusals import closed, frozen, refusal, unknown
from postdate.domain import money
from postdate.domain.account import Account, Status
from postdate.domain.errors import PostdateError
from postdate.domain.item import Phase
from postdate.domain.payment import KIND, Funding, Payment
from postdate.domain.posting import Posting
from postdate.domain.slots import ShardPlan, item_id
from postdate.domain.sweeping import Horizon
from postdate.runtime import metric
from postdate.runtime.clock import Clock
from postdate.runtime.observability import emit_all, logger
from postdate.runtime.queue import Queue
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.ledger import Answer, Ledger

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
    """The payment as it was when it was registered; `replayed` when an earlier request had the same key."""

    payment: Payment
    replayed: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class _Draft:
    """What an order stands for, not yet known to be written. `found` says that its key stood for it before."""

    order: Order
    held: Reservation
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
        written = self._write(tenant, {each.payment.id: each for each in drafts if isinstance(each, _Draft)})

        def answer(draft: _Draft | PostdateError) -> Registered | PostdateError:
            if isinstance(draft, PostdateError):
                return draft
            found = written[draft.payment.id]
            if isinstance(found, PostdateError):
                return found
            return Registered(payment=found, replayed=draft.found)

        return [answer(draft) for draft in drafts]

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
        unique = self.unique()
        wanted = Reservation(
            tenant=tenant,
            key=f"pay {order.idempotency_key}",
            fingerprint=order.fingerprint,
            item_id=item_id(KIND, self.plan.slot(order.due_at, unique), unique),
            due_at=order.due_at,
            created_at=now,
            keep_until=None,
        )
        held = idempotency.held(
            self.reservations, wanted, refusal=order.refusal, now=now, written=self._is_written
        )
        return _draft(tenant, order, held or wanted, now, found=held is not wanted)

    def _is_written(self, id: str) -> bool:
        return self.ledger.payment(id) is not None

    def _write(self, tenant: str, drafts: Mapping[str, _Draft]) -> dict[str, Payment | PostdateError]:
        """The payments as they were registered, by their ids, or why they were not; those that wait get their calls."""
        found = [id for id, draft in drafts.items() if draft.found]
        stored = self.ledger.payments(found) if found else {}
        missing = [draft for id, draft in drafts.items() if id not in stored]
        refused = self._refused(tenant, missing)
        asked = {draft.payment.id: draft for draft in missing if draft.payment.id not in refused}
        posted = dict(zip(asked, self.ledger.post([draft.posting for draft in asked.values()]), strict=True))
        refused |= {id: error for id, each in posted.items() if (error := refusal(each))}
        faster = [id for id, each in posted.items() if each.answer is Answer.STALE]
        stored |= self.ledger.payments(faster) if faster else {}
        waiting = [payment for payment in stored.values() if payment.phase is Phase.WAITS]
        written = [draft.payment for id, draft in asked.items() if id not in stored.keys() | refused.keys()]
        calls.send([*waiting, *written], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        _tell(written)
        answers: dict[str, Payment | PostdateError] = {**refused}
        for id in drafts.keys() - refused.keys():
            try:
                answers[id] = self._first(tenant, drafts[id], stored.get(id))
            except PostdateError as error:
                answers[id] = error
        return answers

    def _first(self, tenant: str, draft: _Draft, stored: Payment | None) -> Payment:
        """The payment as it was registered, be it by another request with this key."""
        if stored is None or stored.created_at == draft.payment.created_at:
            return draft.payment
        held = idempotency.as_written(self.reservations, draft.held, stored.created_at)
        return _draft(tenant, draft.order, held, held.created_at, found=True).payment

    def _refused(self, tenant: str, drafts: Sequence[_Draft]) -> dict[str, PostdateError]:
        if not drafts:
            return {}
        named = {account for draft in drafts for account in (draft.order.payer, draft.order.payee)}
        accounts = self.ledger.accounts(tenant, named)
        found = {draft.payment.id: _objection(draft, accounts) for draft in drafts}
        return {id: error for id, error in found.items() if error is not None}


def _tell(written: Sequence[Payment]) -> None:
    """One log line a payment that was registered now, and not again."""
    for payment in written:
        logger.info(
            "a payment is scheduled",
            extra={
                "action": "payment_scheduled",
                "payment_id": payment.id,
                "from_account_id": payment.payer,
                "to_account_id": payment.payee,
                "amount": payment.amount,
                "scheduled_time": payment.planned_at.isoformat(),
            },
        )
    emit_all(
        {
            metric.PAYMENTS_SCHEDULED: len(written),
            metric.HOLDS_CREATED: sum(each.funding is Funding.RESERVE for each in written),
        }
    )


def _objection(draft: _Draft, accounts: Mapping[str, Account]) -> PostdateError | None:
    for id in (draft.order.payer, draft.order.payee):
        if id not in accounts:
            return unknown(id)
    for id in (draft.order.payer, draft.order.payee):
        match accounts[id].status:
            case Status.FROZEN:
                return frozen(id)
            case Status.CLOSED:
                return closed(id)
            case Status.ACTIVE:
                continue
            case _:
                assert_never(accounts[id].status)
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
    payment = posting.after
    written = replace(
        posting,
        at=now,
        after=replace(payment, moved_at=now),
        points=not payment.home.holds(payment.due_at),
    )
    return _Draft(order=order, held=held, posting=written, payment=payment, found=found)
