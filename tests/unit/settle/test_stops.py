"""Payments that an operator's switch stops: they wait at no cost of theirs, and go on in order."""

from datetime import datetime, timedelta

import pytest

from postdate.domain.due import Via
from postdate.domain.payment import Funding, Payment, State
from postdate.domain.switch import SETTLEMENT, of_tenant, turned
from tests.unit.doubles import MINUTE, SECOND, START, a_payment, message
from tests.unit.settle.conftest import Paying

TENANT = "demo"


def turn(paying: Paying, name: str, *, on: bool, at: datetime | None = None) -> None:
    before = paying.switches.get(name)
    after = turned(before, on=on, now=at or paying.clock.now(), by="key:1", why="test")
    assert paying.switches.change(before, after)


@pytest.fixture
def paying() -> Paying:
    return Paying()


@pytest.mark.parametrize("name", [SETTLEMENT, of_tenant(TENANT)])
def test_a_stopped_payment_is_called_again_as_it_was(paying: Paying, name: str) -> None:
    payment = a_payment()
    paying.stores(payment)
    turn(paying, name, on=False)
    tally = paying.run(message(payment, receives=3))
    ((packet, delay),) = paying.queue.take()
    assert (packet.via, packet.dues[0].version, packet.seen) == (Via.SWEEP, payment.version, True)
    assert delay == 2 * SECOND
    assert paying.stored(payment) == payment
    assert (tally.stopped, tally.settled, tally.failed_messages) == (1, 0, set())
    assert paying.dead_letters.take() == []


def test_the_switch_of_another_tenant_stops_nothing(paying: Paying) -> None:
    payment = a_payment()
    paying.stores(payment)
    turn(paying, of_tenant("other"), on=False)
    paying.run(message(payment))
    assert paying.stored(payment).state is State.COMPLETED


def test_a_switch_that_is_turned_while_a_worker_waits_stops_its_payments(paying: Paying) -> None:
    payment = a_payment(due_at=START + 3 * SECOND)
    paying.stores(payment)
    paying.ledger.before["payments"].append(lambda: turn(paying, SETTLEMENT, on=False))
    paying.run(message(payment))
    assert paying.stored(payment).state is State.PENDING
    assert len(paying.queue.take()) == 1


def test_a_worker_reads_the_switches_before_the_instant_and_once(paying: Paying) -> None:
    """At the instant only the transaction is left: a read then would make each payment late."""
    payment = a_payment(due_at=START + 2 * SECOND)
    paying.stores(payment)
    read_at: list[datetime] = []
    ask = paying.switches.states
    paying.switches.states = lambda names: (read_at.append(paying.clock.now()), ask(names))[1]  # type: ignore[method-assign]
    tally = paying.run(message(payment))
    assert tally.lateness_ms == [0.0]
    assert read_at == [START + 2 * SECOND - timedelta(milliseconds=150)]


def test_without_a_reading_nothing_is_settled_and_nothing_is_lost(paying: Paying) -> None:
    payment = a_payment()
    paying.stores(payment)
    paying.switches.unreadable = True
    tally = paying.run(message(payment))
    assert paying.stored(payment) == payment
    assert tally.failed_messages == set()
    paying.switches.unreadable = False
    paying.run(paying.arrival())
    assert paying.stored(payment).state is State.COMPLETED


def test_a_failed_attempt_under_a_switch_that_is_off_counts_for_nothing(paying: Paying) -> None:
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 9
    paying.ledger.before["post"].append(
        lambda: (paying.clock.move(SECOND), turn(paying, SETTLEMENT, on=False), None)[-1]
    )
    paying.run(message(payment))
    assert paying.stored(payment) == payment
    assert len(paying.queue.take()) == 1


def test_payments_that_waited_are_settled_in_the_order_of_their_instants(paying: Paying) -> None:
    """The calls come back in any order."""
    payments = [a_payment(number, due_at=START + number * SECOND) for number in range(4)]
    paying.stores(*payments)
    turn(paying, SETTLEMENT, on=False, at=START)
    paying.clock.move(20 * SECOND)
    turn(paying, SETTLEMENT, on=True)
    released_at = {each.id: paying.switches.get(SETTLEMENT).released_at(each.due_at) for each in payments}
    for place in (2, 0, 3, 1):
        paying.run(message(payments[place], number=place))
    waiting = sorted(paying.queue.take(), key=lambda sent: sent[0].not_before or START)
    assert [packet.dues[0].id for packet, _ in waiting] == [each.id for each in payments]
    for place, (packet, _) in enumerate(waiting):
        assert packet.not_before is not None
        paying.clock.move(max(packet.not_before - paying.clock.now(), timedelta(0)))
        paying.run(message(*packet.dues, number=10 + place, via=packet.via))
    finished = [paying.stored(each).finished_at for each in payments]
    assert finished == [released_at[each.id] for each in payments]
    assert finished == sorted(finished)


def stopped_chain(paying: Paying) -> tuple[Payment, Payment]:
    """Two payments of which the second needs the money of the first, stopped for twenty seconds."""
    first = a_payment(1, payer="alice", payee="bob", amount=1000)
    second = a_payment(
        2, payer="bob", payee="carol", amount=1500, funding=Funding.AT_EXECUTION, due_at=START + SECOND
    )
    paying.stores(first, second)
    turn(paying, SETTLEMENT, on=False, at=START)
    paying.clock.move(20 * SECOND)
    turn(paying, SETTLEMENT, on=True)
    caught_up_at = paying.switches.get(SETTLEMENT).caught_up_at
    assert caught_up_at is not None
    paying.clock.move(caught_up_at - paying.clock.now())
    return first, second


def test_a_payment_that_lacks_money_waits_for_an_earlier_one_that_was_stopped_as_well(paying: Paying) -> None:
    first, second = stopped_chain(paying)
    assert paying.run(message(second)).stopped == 1
    assert paying.stored(second) == second
    paying.run(message(first, number=2))
    paying.run(paying.arrival(number=3))
    assert [paying.stored(each).state for each in (first, second)] == [State.COMPLETED] * 2


def test_a_payment_that_lacks_money_fails_once_earlier_ones_had_their_time(paying: Paying) -> None:
    _, second = stopped_chain(paying)
    call, until = message(second), paying.clock.now() + 40 * SECOND
    while not paying.stored(second).state.is_final and paying.clock.now() < until:
        paying.run(call)
        call = paying.arrival() if paying.queue.sent else call
    assert paying.stored(second).state is State.FAILED
    assert paying.stored(second).attempts == 1


def test_a_payment_that_was_not_stopped_fails_at_once_without_money(paying: Paying) -> None:
    _, second = stopped_chain(paying)
    later = a_payment(3, payer="bob", payee="carol", amount=1500, funding=Funding.AT_EXECUTION,
                      due_at=paying.clock.now())  # fmt: skip
    paying.stores(later)
    paying.run(message(later))
    assert paying.stored(later).state is State.FAILED
    assert paying.stored(second).state is State.PENDING


def test_a_call_that_comes_back_shortly_before_its_release_waits_at_its_worker(paying: Paying) -> None:
    payment = a_payment()
    paying.stores(payment)
    turn(paying, SETTLEMENT, on=False, at=START)
    paying.clock.move(8 * SECOND)
    turn(paying, SETTLEMENT, on=True)
    released_at = paying.switches.get(SETTLEMENT).released_at(payment.due_at)
    assert released_at is not None
    paying.clock.move(released_at - paying.clock.now() - SECOND)
    paying.run(message(payment))
    assert paying.stored(payment).finished_at == released_at
    assert paying.queue.take() == []


def test_waiting_for_an_hour_costs_a_message_a_minute_and_no_read_of_the_payment(paying: Paying) -> None:
    payment = a_payment()
    paying.stores(payment)
    turn(paying, SETTLEMENT, on=False)
    paying.ledger.before["payments"].extend([lambda: pytest.fail("a stopped payment was read")] * 1000)
    call, times, until = message(payment), 0, START + 60 * MINUTE
    while paying.clock.now() < until:
        paying.run(call)
        call, times = paying.arrival(number=times), times + 1
    assert 60 <= times <= 80
