"""Registers payments: one, or a hundred at once.

The key's row comes first, then the payment together with what it holds of the payer's money, then the call if its slot
may be open already. A crash after the first is repaired by the caller's own retry, after the second by the closing pass
over the slot the payment is due in. Keys are kept for ever, and so are payments: one that has left its table is
answered from the archive, and while the archive cannot be read nothing is written. If two requests with one key are
under way at once, only one of them writes the payment's row, and both are answered with that payment.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from functions.api import idempotency
from functions.api.payments.draft import Draft, PaymentOrder, draft_of, objection, within_limits
from functions.api.payments.registered import note
from functions.api.refusals import refusal
from postdate.domain.account import Account
from postdate.domain.errors import PostdateError
from postdate.domain.item import Phase
from postdate.domain.payment import KIND, Payment
from postdate.domain.slots import ShardPlan
from postdate.domain.sweeping import Horizon
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.archived_payments import ArchivedPayments
from postdate.stores.idempotency import Reservation, Reservations
from postdate.stores.ledger import Ledger, PostingAnswer
from postdate.use_cases import calls

_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class RegisteredPayment:
    """The answer to one order."""

    # The payment at its registration.
    payment: Payment
    # True if an earlier request had the same key.
    replayed: bool = False
    # True if certainly another request, or an earlier order of this one, wrote the payment.
    known: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentRegistrar:
    ledger: Ledger
    reservations: Reservations
    queue: Queue
    shards: ShardPlan
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]
    archived: ArchivedPayments

    def register(
        self, tenant: str, orders: Sequence[PaymentOrder]
    ) -> list[RegisteredPayment | PostdateError]:
        """Returns an answer for each order, in their order. An error in one affects no other."""
        named = {
            account
            for order in orders
            if order.refusal is None
            for account in (order.terms.payer, order.terms.payee)
        }
        accounts = self.ledger.accounts(tenant, named) if named else {}
        drafts = self._drafts(tenant, [within_limits(order, accounts) for order in orders], self.clock.now())
        known = set[str]()
        written = self._write(
            tenant, {each.payment.id: each for each in drafts if isinstance(each, Draft)}, accounts, known
        )

        def answer(draft: Draft | PostdateError) -> RegisteredPayment | PostdateError:
            if isinstance(draft, PostdateError):
                return draft
            id = draft.payment.id
            found = written[id]
            if isinstance(found, PostdateError):
                return found
            registered = RegisteredPayment(payment=found, replayed=draft.found, known=id in known)
            # A second order of this request with the same key registers nothing more.
            known.add(id)
            return registered

        return [answer(draft) for draft in drafts]

    def _drafts(
        self, tenant: str, orders: Sequence[PaymentOrder], now: datetime
    ) -> list[Draft | PostdateError]:
        """Keys are reserved side by side, the orders with one and the same key one after the other."""
        indexes = defaultdict[str, list[int]](list)
        for index, order in enumerate(orders):
            indexes[order.idempotency_key].append(index)

        def drafted(group: Sequence[int]) -> list[tuple[int, Draft | PostdateError]]:
            return [(index, self._draft(tenant, orders[index], now)) for index in group]

        with ThreadPoolExecutor(min(_AT_ONCE, len(indexes))) as pool:
            drafts = dict(pair for pairs in pool.map(drafted, indexes.values()) for pair in pairs)
        return [drafts[index] for index in range(len(orders))]

    def _draft(self, tenant: str, order: PaymentOrder, now: datetime) -> Draft | PostdateError:
        try:
            return self._reserve(tenant, order, now)
        except PostdateError as error:
            return error

    def _reserve(self, tenant: str, order: PaymentOrder, now: datetime) -> Draft:
        """Reserves the order's key, or takes what an earlier request with this key reserved. Raises the order's refusal
        only for a key that no payment has."""
        unique = self.unique()
        wanted = Reservation(
            tenant=tenant,
            key=f"pay {order.idempotency_key}",
            fingerprint=order.fingerprint,
            item_id=self.shards.item_id(KIND, order.due_at, unique),
            due_at=order.due_at,
            created_at=now,
            keep_until=None,
        )
        reservation = idempotency.reserved(
            self.reservations,
            wanted,
            refusal=order.refusal,
            now=now,
            written=lambda id: self._is_written(tenant, id),
        )
        return draft_of(tenant, order, reservation or wanted, now, found=reservation is not wanted)

    def _is_written(self, tenant: str, id: str) -> bool:
        return self.ledger.payment(id) is not None or self.archived.find(tenant, id) is not None

    def _stored(self, tenant: str, ids: Sequence[str]) -> dict[str, Payment]:
        """The payments that were written, wherever they are now. Raises Unavailable: a payment that cannot be looked
        for must not be written again."""
        found = self.ledger.payments(ids) if ids else {}
        archived = {id: self.archived.find(tenant, id) for id in ids if id not in found}
        return found | {id: payment for id, payment in archived.items() if payment is not None}

    def _write(
        self, tenant: str, drafts: Mapping[str, Draft], accounts: Mapping[str, Account], known: set[str]
    ) -> dict[str, Payment | PostdateError]:
        """The payments as they were registered, by their ids, or why they were not; those that wait get their calls.
        Adds to `known` those that another request has certainly written."""
        found = [id for id, draft in drafts.items() if draft.found]
        stored = self._stored(tenant, found)
        known.update(stored)
        # A key may be known without its payment: the first request crashed before it wrote the payment.
        missing = [draft for id, draft in drafts.items() if id not in stored]
        objections = {draft.payment.id: objection(draft, accounts) for draft in missing}
        refused = {id: error for id, error in objections.items() if error is not None}
        asked = {draft.payment.id: draft for draft in missing if draft.payment.id not in refused}
        posted = dict(zip(asked, self.ledger.post([draft.signed for draft in asked.values()]), strict=True))
        refused |= {id: error for id, each in posted.items() if (error := refusal(each))}
        # Another request with the same key wrote its payment first: the answer is that one's.
        faster = [id for id, each in posted.items() if each.answer is PostingAnswer.STALE]
        stored |= self.ledger.payments(faster) if faster else {}
        known.update(
            id for id in faster if id in stored and _is_of_another(stored[id], asked[id].posting.after)
        )
        waiting = [payment for payment in stored.values() if payment.phase is Phase.WAITS]
        written = [draft.payment for id, draft in asked.items() if id not in stored.keys() | refused.keys()]
        # Also for payments that were there: the request that wrote them may have crashed before the call.
        calls.send([*waiting, *written], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        note(written)
        answers: dict[str, Payment | PostdateError] = {**refused}
        for id in drafts.keys() - refused.keys():
            try:
                answers[id] = self._first(tenant, drafts[id], stored.get(id))
            except PostdateError as error:
                answers[id] = error
        return answers

    def _first(self, tenant: str, draft: Draft, stored: Payment | None) -> Payment:
        """The payment as the first request with this key registered it. If another request wrote it, the order is read
        again with that request's reservation."""
        if stored is None or stored.created_at == draft.payment.created_at:
            return draft.payment
        reservation = idempotency.as_written(self.reservations, draft.reservation, stored.created_at)
        return draft_of(tenant, draft.order, reservation, reservation.created_at, found=True).payment


def _is_of_another(stored: Payment, drafted: Payment | None) -> bool:
    """True if another request wrote the payment: `moved_at` is then the instant of that request. A payment that changed
    since does not tell."""
    return drafted is not None and stored.version == 1 and stored.moved_at != drafted.moved_at
