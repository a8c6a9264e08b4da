"""Changes and cancels payments that wait: one posting each, decided again when another writer was faster.

The new call is sent after the write; if that is lost, the closing pass over the new slot finds the pointer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from functions.api.caller import Caller
from functions.api.refusals import refusal, unknown
from postdate.domain import money
from postdate.domain.errors import Conflict, NotFound, VersionMismatch
from postdate.domain.item import Phase, kind_of
from postdate.domain.payment import KIND, Payment, State
from postdate.domain.posting import Posting
from postdate.domain.sweeping import Horizon
from postdate.runtime import metric
from postdate.runtime.clock import Clock
from postdate.runtime.observability import emit, logger
from postdate.runtime.queue import Queue
from postdate.stores.archived_payments import ArchivedPayments
from postdate.stores.ledger import Ledger, PostingAnswer
from postdate.use_cases import calls

_TRIES = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentChanger:
    ledger: Ledger
    queue: Queue
    horizon: Horizon
    clock: Clock
    archived: ArchivedPayments

    def load(self, tenant: str | None, id: str) -> Payment:
        """Returns the payment of this tenant, also from the archive; with None, of any tenant and from the table
        alone."""
        payment = self.ledger.payment(id) if kind_of(id) == KIND else None
        if payment is None and tenant is not None:
            payment = self.archived.find(tenant, id)
        if payment is None or tenant not in (None, payment.tenant):
            raise NotFound(f"there is no payment {id}")
        return payment

    def cancel(self, caller: Caller, id: str, *, version: int | None) -> Payment:
        def decide(payment: Payment, now: datetime) -> Posting | None:
            return money.cancel(payment, now=now, operator=caller.operates)

        return self._change(caller, id, version, decide)

    def edit(
        self,
        caller: Caller,
        id: str,
        *,
        version: int | None,
        due_at: datetime | None,
        amount: int | None,
        instant_field: str,
        **changes: Any,
    ) -> Payment:
        """`changes` are fields of Payment that touch no money."""

        def decide(payment: Payment, now: datetime) -> Posting:
            names = {"scheduled_time": due_at, "amount": amount}
            why = ", ".join([*(name for name, given in names.items() if given is not None), *sorted(changes)])
            posting = money.edit(
                payment, now=now, due_at=due_at, amount=amount, why=f"changed {why}", **changes
            )
            self._check_limits(payment, amount, due_at, now, instant_field)
            return posting

        payment = self._change(caller, id, version, decide)
        if due_at is not None and payment.phase is Phase.WAITS:
            calls.send([payment], queue=self.queue, horizon=self.horizon, now=self.clock.now())
        return payment

    def _check_limits(
        self, payment: Payment, amount: int | None, due_at: datetime | None, now: datetime, instant_field: str
    ) -> None:
        """Checks a changed amount and a changed instant against the limits that the payer has now."""
        if amount is None and due_at is None:
            return
        account = self.ledger.account(payment.tenant, payment.payer)
        if account is None:
            raise unknown(payment.payer)
        if amount is not None:
            account.limits.check_amount(amount)
        if due_at is not None:
            account.limits.check_delay(due_at - now, field=instant_field)

    def _change(
        self,
        caller: Caller,
        id: str,
        version: int | None,
        decide: Callable[[Payment, datetime], Posting | None],
    ) -> Payment:
        wanted: Payment | None = None
        for _ in range(_TRIES):
            payment = self.load(caller.tenant, id)
            if wanted is not None and wanted.history[-1] in payment.history:
                # Our own first try was written, and its answer got lost. Others may have changed the payment since.
                return payment
            caller.pays_from(payment.payer)
            decided = decide(payment, self.clock.now())
            if decided is None:
                return payment
            posting = decided.signed(caller.actor)
            if version is not None and version != payment.version:
                raise VersionMismatch(f"the payment has version {payment.version}")
            (posted,) = self.ledger.post([posting])
            if error := refusal(posted, posting):
                raise error
            wanted = posting.after
            if posted.answer is PostingAnswer.DONE and wanted is not None:
                _tell(payment, wanted, caller)
                return wanted
        raise Conflict


def _tell(before: Payment, after: Payment, caller: Caller) -> None:
    """Emits the metric of a cancelled or rescheduled payment, and logs the change in one line with the id of the
    caller's API key."""
    if after.state is State.CANCELLED:
        emit(metric.PAYMENTS_CANCELLED)
    elif after.due_at != before.due_at:
        emit(metric.PAYMENTS_RESCHEDULED)
    logger.info(
        "a payment changed",
        extra={
            "action": "payment_cancelled" if after.state is State.CANCELLED else "payment_changed",
            "payment_id": after.id,
            "version": after.version,
            "key_id": caller.key_id,
            "why": after.history[-1].why,
        },
    )
