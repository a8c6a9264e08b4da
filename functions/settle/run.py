"""Settles the payments of one batch, each at its instant.

They are read when the batch arrives, a second or two before: at the instant the transaction is all that remains. It is
claim, transfer and outcome at once, so a worker that dies leaves nothing half done, and its message comes back. One
that dies after it noted a stumble, before it sent the retry's message or the dead letter, leaves its own message as
well: delivered again, it finds the payment waiting or left to a person, and sends it.

There is one thread. Everything whose instant has come is settled in one call: the ledger knows what goes together.

What an operator has stopped is sent again with a pause and is settled in order afterwards (see `stops`).
"""

from bisect import insort
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from functions.settle.hidden import Hidden, HiddenMessages
from functions.settle.stops import PATIENCE, Stops
from functions.settle.tally import PaymentTally
from postdate.domain import settlement
from postdate.domain.due import WAIT_MAX, Due
from postdate.domain.errors import Unavailable
from postdate.domain.payment import Payment, State
from postdate.domain.retry import RetryPolicy
from postdate.domain.verdicts import Buried, Deferred, Dropped
from postdate.runtime.agenda import Call, calls_of, take_due
from postdate.runtime.clock import Clock
from postdate.runtime.outbox import Outbox
from postdate.runtime.queue import Received
from postdate.stores.ledger import Ledger, PostingAnswer
from postdate.use_cases.settling import Settling

# The author of what this function changes.
AUTHOR: Final = "function:settle"
# A worker this late writes payments of strangers in one transaction: it catches up, at the risk of conflicts.
BEHIND: Final = timedelta(milliseconds=100)


class PaymentRunner:
    """Made anew for each batch; everything it touches is given."""

    def __init__(
        self,
        *,
        ledger: Ledger,
        outbox: Outbox,
        hide: Callable[[Hidden], None],
        clock: Clock,
        lease: timedelta,
        stops: Stops,
        retry: RetryPolicy,
        draw: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._settling = Settling(ledger, clock, by=AUTHOR)
        self._outbox = outbox
        self._hide = hide
        self._clock = clock
        self._lease = lease
        self._stops = stops
        self._retry = retry
        self._draw = draw
        self._known: dict[str, Payment] = {}
        self._agenda: deque[Call] = deque()
        self._tally = PaymentTally()

    def run(self, messages: Sequence[Received]) -> PaymentTally:
        """Settles all payments of the messages, each at its instant, and keeps the messages hidden meanwhile. Returns
        the tally with the messages that have to come back."""
        hidden = HiddenMessages(messages, hide=self._hide, clock=self._clock, lease=self._lease)
        hidden.renew_if_due()
        with hidden.renewing():
            self._read(messages)
            while self._agenda:
                now = self._clock.now()
                if hidden.renew_at <= now:
                    hidden.renew_if_due()
                elif self._agenda[0].at <= now:
                    self._settle(self._allowed(take_due(self._agenda, now)))
                else:
                    self._outbox.send()
                    self._sleep(hidden.renew_at)
            self._outbox.send()
        self._tally.failed_messages |= self._outbox.failed_messages
        return self._tally

    def _sleep(self, renew_at: datetime) -> None:
        """Waits for the next payment, and looks at the switches shortly before."""
        at = self._agenda[0].at
        tenants = [call.message.packet.tenant for call in self._agenda if call.at == at]
        look_at = self._stops.next_look_at(tenants, at)
        if look_at is not None and look_at <= self._clock.now():
            self._stops.look_for(tenants, at)
        else:
            self._clock.sleep_until(min(renew_at, look_at or at))

    def _allowed(self, calls: Iterable[Call]) -> list[Call]:
        """The calls of payments that no switch stops now. The others follow later: soon enough for this worker to wait,
        or in a message of their own."""
        found = list(calls)
        if not found:
            return found
        self._stops.look(call.message.packet.tenant for call in found)
        now, allowed = self._clock.now(), []
        for call in found:
            until = self._stops.until(call.message.packet.tenant, call.due.due_at)
            if until is None:
                allowed.append(call)
            elif until <= now + WAIT_MAX and not self._stops.is_off(call.message.packet.tenant):
                insort(self._agenda, replace(call, at=until), key=lambda each: each.at)
            else:
                self._send_later(call, until)
        return allowed

    def _is_stopped(self, call: Call) -> bool:
        """True if the switches may be the reason why an attempt failed: then it was none."""
        self._stops.look([call.message.packet.tenant])
        return self._stops.is_off(call.message.packet.tenant)

    def _send_later(self, call: Call, until: datetime) -> None:
        self._tally.stopped += 1
        self._outbox.send_on(call.due, call.message, not_before=until)

    def _read(self, messages: Sequence[Received]) -> None:
        """Puts the calls on the agenda in the order of their instants. Of stopped payments nothing is read."""
        now = self._clock.now()
        calls = calls_of(messages, now)
        late = self._allowed(call for call in calls if call.at <= now)
        calls = [*late, *(call for call in calls if call.at > now), *self._agenda]
        self._agenda.clear()
        if not calls:
            return
        try:
            self._known = self._ledger.payments(call.due.id for call in calls)
        except Unavailable:
            self._fail(calls)
            return
        self._agenda.extend(sorted(calls, key=lambda call: call.at))

    def _settle(self, calls: Sequence[Call]) -> None:
        to_settle = [call for call in calls if self._admit(call)]
        began_at = self._clock.now()
        with self._stops.bounding(call.message.packet.tenant for call in to_settle):
            outcomes = self._settling.attempt(
                (self._known[call.due.id] for call in to_settle),
                authors={call.due.id: call.message.packet.by for call in to_settle if call.message.packet.by},
                together=any(call.at <= began_at - BEHIND for call in to_settle),
                patient=self._patient(to_settle),
            )
        stuck = []
        # What the ledger answered decides what follows from each call, in this order.
        for call in to_settle:
            outcome = outcomes[call.due.id]
            self._known[call.due.id] = outcome.payment
            if outcome.stuck is not None and self._is_stopped(call):
                self._send_later(call, self._clock.now())
            elif outcome.stuck is not None:
                stuck.append((call, outcome.payment, outcome.stuck))
                self._tally.disagreeing += outcome.disagrees
            # An earlier payment that a switch stopped may still bring the money.
            elif outcome.lacks_money:
                self._send_later(call, self._clock.now() + PATIENCE)
            elif outcome.ended_at is not None:
                self._record(outcome.payment, began_at, outcome.ended_at)
            # Neither ended nor stuck: another writer changed the payment, so its new version is looked at.
            elif self._admit(call):
                self._agenda.appendleft(call)
        self._stumble(stuck)

    def _patient(self, calls: Iterable[Call]) -> set[str]:
        """The payments that may lack money only because earlier ones, which a switch stopped, are not settled yet."""
        return {
            call.due.id
            for call in calls
            if self._stops.is_catching_up(call.message.packet.tenant, call.due.due_at)
        }

    def _admit(self, call: Call) -> bool:
        """True if the payment of this call is to be settled. Otherwise the call is deferred, buried or dropped here,
        and a call whose payment cannot be read fails. Asked before a settlement, and again after the ledger found
        another version."""
        payment = self._known.get(call.due.id)
        if payment is None:
            # A payment outlives its calls, so it is there and cannot be read: its message has to stay.
            self._fail([call])
            return False
        now, repeated = self._clock.now(), call.message.repeated
        match settlement.verdict(payment, call.due, now=now, repeated=repeated):
            case None:
                return True
            case Deferred():
                self._tally.deferred += 1
                self._outbox.defer(Due.of(payment), call.message, not_before=None)
            case Buried():
                self._outbox.bury(payment, call.message)
            case Dropped():
                self._tally.dropped += 1
        return False

    def _record(self, payment: Payment, began_at: datetime, ended_at: datetime) -> None:
        """Counts a payment that ended. Its lateness lasts until the commit is answered, because the owner of the money
        sees it then."""
        lateness_ms = (ended_at - payment.planned_at) / timedelta(milliseconds=1)
        self._tally.ended.append((payment, lateness_ms))
        if payment.state is State.COMPLETED:
            self._tally.settled += 1
            self._tally.lateness_ms.append(lateness_ms)
            self._tally.wait_ms.append((began_at - payment.planned_at) / timedelta(milliseconds=1))
            self._tally.execution_ms.append((ended_at - began_at) / timedelta(milliseconds=1))
        else:
            self._tally.failed += 1
            self._tally.failures.append(payment)

    def _stumble(self, stuck: Sequence[tuple[Call, Payment, str]]) -> None:
        """Notes a failed attempt and the instant of the next one in the payment, then sends the call for it. If the
        note cannot be written, the message comes back."""
        if not stuck:
            return
        now = self._clock.now()
        postings = [
            settlement.stumble(payment, now=now, why=why, retry=self._retry, draw=self._draw()).signed(
                call.message.packet.by or AUTHOR
            )
            for call, payment, why in stuck
        ]
        stale = []
        for (call, _, _), posting, posted in zip(stuck, postings, self._ledger.post(postings), strict=True):
            if posted.answer is PostingAnswer.DONE and posting.after is not None:
                self._known[call.due.id] = posting.after
                self._send_on(call, posting.after)
            elif posted.answer is PostingAnswer.STALE:
                stale.append(call)
            else:
                self._fail([call])
        self._look_again(stale)

    def _send_on(self, call: Call, payment: Payment) -> None:
        """Sends the message that follows a failed attempt: the retry, or the letter of a payment that is left to a
        person."""
        self._tally.failures.append(payment)
        if payment.lease_until is None:
            self._tally.parked += 1
            self._outbox.bury(payment, call.message)
        else:
            self._tally.stumbled += 1
            self._outbox.retry(payment, call.message)

    def _look_again(self, calls: Sequence[Call]) -> None:
        """Reads the payments again, because another worker was faster, or only the answer of the own write was lost.
        Calls with nothing left to settle end here. The messages of all others count as failed and come back."""
        if not calls:
            return
        try:
            self._known |= self._ledger.payments(call.due.id for call in calls)
        except Unavailable:
            self._fail(calls)
            return
        self._fail(call for call in calls if self._admit(call))

    def _fail(self, calls: Iterable[Call]) -> None:
        self._tally.failed_messages |= {call.message.message_id for call in calls}
