"""Settles a payment at the word of another service, which names the execution. Repeats are harmless: what has ended is
told as it ended."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from functions.api.payments.change import PaymentChanger
from functions.api.payments.execution_answers import Executed, executed
from functions.api.refusals import books_disagree
from postdate.domain.errors import InvalidState, NotFound, Stopped, Unauthenticated, Unavailable
from postdate.domain.item import kind_of
from postdate.domain.payment import KIND, Payment, State
from postdate.domain.scopes import INTERNAL
from postdate.domain.switch import SETTLEMENT, of_tenant
from postdate.runtime import deadline
from postdate.runtime.clock import Clock
from postdate.stores.archived_payments import ArchivedPayments
from postdate.stores.key_hashes import KeyHashes
from postdate.stores.key_text import Shown, split
from postdate.stores.keys import Keys
from postdate.stores.switchboard import Switchboard
from postdate.use_cases.settling import Settling


@dataclass(frozen=True, kw_only=True, slots=True)
class Executor:
    changer: PaymentChanger
    archived: ArchivedPayments
    settling: Settling
    keys: Keys
    hashes: KeyHashes
    # Stores a keyed hash in place of one of an older release.
    keep: Callable[[Shown], None]
    switchboard: Switchboard
    clock: Clock

    def admit(self, token: str) -> None:
        """Raises Unauthenticated unless the token is a key with the scope `internal`."""
        parts = split(token.strip())
        key = self.keys.get(parts[0]) if parts else None
        # A tenant's key must not settle other tenants' payments.
        if parts is None or key is None or INTERNAL not in key.scopes:
            raise Unauthenticated("X-Internal-Auth is missing, unknown or expired")
        if not key.accepts(parts[1], now=self.clock.now(), hashes=self.hashes):
            raise Unauthenticated("X-Internal-Auth is missing, unknown or expired")
        self.keep(Shown(key, parts[1]))

    def execute(self, id: str, execution_id: str) -> Executed:
        """Raises Stopped while a switch stops this payment, also if that cannot be told now. The archive tells how a
        payment ended that has left the table, and not by which execution."""
        try:
            payment = self.changer.load(None, id)
        except NotFound:
            if kind_of(id) != KIND or (ended := self.archived.end_of(id)) is None:
                raise
            return _executed(ended.state, None, ended.error_code)
        with self._unless_stopped(payment):
            outcome = self.settling.attempt([payment], {id: execution_id})[id]
        if outcome.stuck and outcome.disagrees:
            raise books_disagree(payment.payer, outcome.stuck)
        if outcome.stuck:
            raise Unavailable
        done = outcome.payment
        if done.state is State.EXECUTING and done.lease_until is None:
            raise InvalidState(done.state, "the payment waits for a person to redrive or cancel it")
        last = done.executions[-1].id if done.executions else None
        return _executed(done.state, last, done.error_code)

    @contextmanager
    def _unless_stopped(self, payment: Payment) -> Iterator[None]:
        """No transaction begins in here once the reading of the switches counts no more."""
        names = [SETTLEMENT, of_tenant(payment.tenant)]
        self.switchboard.look(names)
        for name in () if payment.state.is_final else names:
            switch = self.switchboard.known(name)
            released_at = None if switch is None else switch.released_at(payment.due_at)
            if released_at is None or released_at > max(payment.due_at, self.clock.now()):
                raise Stopped(f"{name} is switched off, or its payments are being caught up")
        seconds_left = self.switchboard.seconds_left
        # The reading may end between the check and the write: then the transaction is not begun.
        with deadline.of_this_process().within(lambda: seconds_left(names), only="TransactWriteItems"):
            yield


def _executed(state: State, execution_id: str | None, error_code: str | None) -> Executed:
    match state:
        case State.COMPLETED | State.FAILED:
            return executed(state, execution_id, error_code)
        case State.CANCELLED:
            raise InvalidState(state, "the payment is cancelled")
        case State.PENDING | State.EXECUTING:
            raise InvalidState(state, "the payment is not due yet")
