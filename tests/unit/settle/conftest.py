"""The executor of payments over a ledger in memory."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from functions.settle.hidden import Hidden
from functions.settle.run import PaymentRunner
from functions.settle.stops import Stops
from functions.settle.tally import PaymentTally
from postdate.domain.due import Due, Via
from postdate.domain.payment import Payment
from postdate.runtime.outbox import Outbox
from postdate.runtime.queue import Received
from postdate.stores.switchboard import Switchboard
from postdate.stores.switches_memory import MemorySwitches
from postdate.use_cases.settling import Settling
from tests.unit.doubles import LEASE, STEADY, ManualClock, ScriptedLedger, ScriptedQueue, message


class Paying:
    """Three accounts of 1,000 each, and whoever settles payments between them."""

    NAMES = ("alice", "bob", "carol")

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ledger = ScriptedLedger()
        self.ledger.opens(*self.NAMES)
        self.queue = ScriptedQueue(self.clock)
        self.dead_letters = ScriptedQueue(self.clock)
        self.switches = MemorySwitches()
        # The messages of each request that hides some, with the instants until which these are hidden.
        self.hidden: list[dict[str, datetime]] = []

    def stores(self, *payments: Payment) -> None:
        self.ledger.keeps(*payments)

    def stored(self, payment: Payment) -> Payment:
        return self.ledger.payments([payment.id])[payment.id]

    def settle(self, *payments: Payment) -> dict[str, Payment | None]:
        outcomes = Settling(self.ledger, self.clock).attempt(payments)
        return {id: None if each.stuck else each.payment for id, each in outcomes.items()}

    def run(self, *messages: Received) -> PaymentTally:
        return self.runner().run(messages)

    def runner(self) -> PaymentRunner:
        return PaymentRunner(
            ledger=self.ledger,
            outbox=Outbox(queue=self.queue, dead_letters=self.dead_letters),
            hide=self._hide,
            clock=self.clock,
            lease=LEASE,
            stops=Stops(Switchboard(switches=self.switches, clock=self.clock), self.clock),
            retry=STEADY,
            draw=lambda: 0.5,
        )

    def arrival(self, *, number: int = 9, receives: int = 1) -> Received:
        """The only packet that was sent on, as it arrives: the clock has moved to that instant."""
        ((packet, delay),) = self.queue.take()
        self.clock.move(delay)
        return message(*packet.dues, number=number, receives=receives, via=packet.via, seen=packet.seen)

    def takes(self, by: timedelta) -> Callable[[], None]:
        """A script's step for a request that takes this long."""
        return lambda: self.clock.move(by)

    @property
    def money(self) -> dict[str, tuple[int, int]]:
        """Available and reserved amounts of each account."""
        found = self.ledger.accounts("demo", self.NAMES)
        return {name: (found[name].available, found[name].reserved) for name in self.NAMES if name in found}

    @property
    def moved(self) -> list[str | None]:
        """The payments that have a row in the journal."""
        rows = {
            row.id: row.payment_id
            for name in self.NAMES
            for row in self.ledger.movements("demo", name, after="", limit=1000)
        }
        return list(rows.values())

    @property
    def letters(self) -> list[Due]:
        return [due for packet in self.dead_letters.packets for due in packet.dues]

    @property
    def sent(self) -> list[tuple[Via, Due, timedelta]]:
        return [(packet.via, due, delay) for packet, delay in self.queue.sent for due in packet.dues]

    def _hide(self, hidden: Hidden) -> None:
        now = self.clock.now()
        self.hidden.append({message.message_id: now + time for message, time in hidden})


@pytest.fixture
def paying() -> Paying:
    return Paying()
