"""Calls that settle payments, and their instants: never early, each at its own instant, a payment at most once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import money
from postdate.domain.due import Due, Via
from postdate.domain.payment import Funding, State
from postdate.stores.ledger import PostingAnswer
from tests.unit.doubles import (
    MINUTE,
    SECOND,
    START,
    ManualClock,
    a_payment,
    message,
    payment_in,
    stumbled,
)
from tests.unit.settle.conftest import Paying

MILLISECOND = SECOND / 1000
STARTED = (1_000, 0)


def do(paying, *postings):
    assert {posted.answer for posted in paying.ledger.post(postings)} == {PostingAnswer.DONE}


@given(st.lists(st.integers(-1_000, 3_000), min_size=1, max_size=30))
def test_each_payment_of_a_batch_is_settled_at_its_own_instant_and_none_early(offsets):
    paying = Paying()
    payments = [
        a_payment(number, amount=10, due_at=START + offset * MILLISECOND)
        for number, offset in enumerate(offsets)
    ]
    paying.stores(*payments)
    tally = paying.run(*(message(payment, number=number) for number, payment in enumerate(payments)))
    for payment in payments:
        stored = paying.stored(payment)
        assert (stored.state, stored.finished_at) == (State.COMPLETED, max(payment.due_at, START))
    assert sorted(tally.lateness_ms) == sorted(max(0, -offset) for offset in offsets)
    assert (tally.settled, tally.failed_messages) == (len(payments), set())
    assert paying.money["bob"] == (1_000 + 10 * len(payments), 0)


def test_all_whose_instant_has_come_are_posted_together_however_many():
    """The ledger merges and cuts; a limit here would only cost conflicts."""
    paying = Paying()
    payments = [a_payment(number, amount=4, due_at=START + SECOND) for number in range(250)]
    paying.stores(*payments)
    tally = paying.run(
        *(message(*payments[25 * number : 25 * number + 25], number=number) for number in range(10))
    )
    assert [len(postings) for postings in paying.ledger.posted] == [250]
    assert (tally.settled, paying.clock.now()) == (250, START + SECOND)
    assert paying.money["alice"] == (0, 0)


@pytest.mark.parametrize(("late", "packed"), [(0, False), (99, False), (100, True)])
def test_a_worker_packs_payments_of_strangers_only_while_it_is_behind(paying, late, packed):
    payments = [a_payment(number, due_at=START + SECOND) for number in range(2)]
    paying.stores(*payments)
    paying.ledger.before["payments"].append(lambda: paying.clock.move(SECOND + late * MILLISECOND))
    paying.run(message(*payments))
    assert paying.ledger.packed == [packed]


def test_payments_are_read_before_their_instant_and_then_no_more(paying):
    """Only the transaction is left for the instant."""
    payment = a_payment(due_at=START + 2 * SECOND)
    paying.stores(payment)
    reads = []
    paying.ledger.before["payments"].extend([lambda: reads.append(paying.clock.now())] * 5)
    paying.run(message(payment))
    assert reads == [START]


def test_lateness_is_measured_when_the_commit_was_answered(paying):
    payment = a_payment(due_at=START + SECOND)
    paying.stores(payment)
    paying.ledger.before["post"].append(lambda: paying.clock.move(7 * MILLISECOND))
    tally = paying.run(message(payment))
    assert tally.lateness_ms == [7.0]
    assert paying.stored(payment).lateness_ms == 0


def test_only_what_was_settled_here_is_counted_as_settled_here(paying):
    failed = a_payment(1, amount=2_000, funding=Funding.AT_EXECUTION)
    over = payment_in(State.COMPLETED, a_payment(2))
    paying.stores(failed, over)
    tally = paying.run(message(failed, number=1), message(a_payment(2), number=2))
    assert (tally.settled, tally.failed, tally.dropped, tally.lateness_ms) == (0, 1, 1, [])
    assert [payment.id for payment in tally.failures] == [failed.id]


def test_one_that_fails_spoils_no_other_of_its_message(paying):
    short, lost, fine = (
        a_payment(1, amount=5_000, funding=Funding.AT_EXECUTION),
        a_payment(2, payee="nobody"),
        a_payment(3),
    )
    paying.stores(short, lost, fine)
    tally = paying.run(message(short, lost, fine))
    assert (tally.settled, tally.failed, tally.failed_messages) == (1, 2, set())
    assert paying.money == {"alice": (900, 0), "bob": (1_100, 0), "carol": STARTED}
    assert paying.queue.sent == paying.dead_letters.sent == []


def test_a_slow_ledger_makes_no_payment_early_or_forgotten(paying):
    payments = [a_payment(number, due_at=START + number * SECOND / 2) for number in range(1, 7)]
    paying.stores(*payments)
    paying.ledger.before["post"].append(lambda: paying.clock.move(2 * SECOND))
    tally = paying.run(message(*payments))
    assert [len(postings) for postings in paying.ledger.posted] == [1, 4, 1]
    assert tally.settled == 6
    assert all(
        paying.stored(payment).finished_at >= payment.due_at and payment.due_at > START
        for payment in payments
    )


def test_a_call_further_away_than_the_wait_is_sent_again_and_delays_no_other(paying):
    near, far = a_payment(1, due_at=START + 3 * SECOND), a_payment(2, due_at=START + 3 * SECOND + MILLISECOND)
    paying.stores(near, far)
    tally = paying.run(message(near, far))
    assert (tally.settled, tally.deferred, tally.failed_messages) == (1, 1, set())
    assert paying.stored(near).finished_at == near.due_at
    ((packet, _),) = paying.queue.sent
    assert (packet.via, packet.dues, packet.seen) == (Via.SWEEP, (Due.of(far),), True)
    assert paying.stored(far) == far


def test_a_deferred_call_is_sent_before_the_worker_waits(paying):
    """A call that waited here as well would arrive late."""
    near, far = a_payment(1, due_at=START + 3 * SECOND), a_payment(2, due_at=START + 5 * SECOND)
    paying.stores(near, far)
    sent_at = []
    paying.queue.before.append(lambda: sent_at.append(paying.clock.now()))
    paying.run(message(near, far))
    assert sent_at == [START]


def test_a_call_that_was_deferred_settles_when_it_arrives(paying):
    far = a_payment(due_at=START + 30 * SECOND)
    paying.stores(far)
    paying.run(message(far))
    paying.run(paying.arrival())
    assert paying.stored(far).finished_at == far.due_at


def test_a_call_more_than_fifteen_minutes_early_is_left_to_the_sweep(paying):
    later = a_payment(due_at=START + 16 * MINUTE)
    paying.stores(later)
    tally = paying.run(message(later))
    assert (tally.dropped, paying.queue.sent, paying.stored(later)) == (1, [], later)


class BackwardClock(ManualClock):
    """Set back while it is read, as clocks are."""

    def __init__(self, *set_back_by):
        super().__init__()
        self.set_back_by = list(set_back_by)

    def now(self):
        back = self.set_back_by.pop(0) if self.set_back_by else 0 * SECOND
        return super().now() - back


@pytest.mark.parametrize("reading", range(8))
def test_a_clock_that_is_set_back_settles_nothing_early_and_loses_nothing(reading):
    paying, payment = Paying(), a_payment()
    paying.clock = BackwardClock(*[0 * SECOND] * reading, *[5 * MILLISECOND] * 9)
    paying.stores(payment)
    paying.run(message(payment))
    stored = paying.stored(payment)
    if stored.state is State.PENDING:
        assert paying.sent == [(Via.SWEEP, Due.of(payment), 0 * SECOND)]
    else:
        assert (stored.state, stored.finished_at) == (State.COMPLETED, payment.due_at)


def test_two_messages_of_one_payment_in_a_batch_settle_it_once(paying):
    payment = a_payment()
    paying.stores(payment)
    tally = paying.run(message(payment, number=1), message(payment, number=2))
    assert (tally.settled, tally.dropped, tally.failed_messages) == (1, 1, set())
    assert paying.moved == [payment.id]
    assert [len(postings) for postings in paying.ledger.posted] == [1]


def test_a_message_that_names_a_payment_twice_settles_it_once_and_forgets_no_other(paying):
    payment, other = a_payment(1), a_payment(2)
    paying.stores(payment, other)
    tally = paying.run(message(payment, payment, other))
    assert (tally.settled, tally.dropped) == (2, 1)
    assert [len(postings) for postings in paying.ledger.posted] == [2]


def test_a_second_message_is_decided_from_what_the_first_left(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1
    tally = paying.run(message(payment, number=1), message(payment, number=2))
    assert (tally.stumbled, tally.dropped, paying.stored(payment).attempts) == (1, 1, 1)
    assert [[posting.after.state for posting in postings] for postings in paying.ledger.posted] == [
        [State.COMPLETED],
        [State.EXECUTING],
    ]


def test_a_second_message_waits_for_no_other_payment(paying):
    payment, later = a_payment(1), a_payment(2, due_at=START + 3 * SECOND)
    paying.stores(payment, later)
    paying.ledger.unavailable[payment.id] = 1
    sent_at = []
    paying.queue.before.extend([lambda: sent_at.append(paying.clock.now())] * 3)
    tally = paying.run(message(payment, number=1), message(payment, later, number=2, receives=2))
    assert (tally.stumbled, tally.deferred, len(paying.sent), sent_at) == (1, 1, 2, [START])


@pytest.mark.parametrize("state", [State.COMPLETED, State.FAILED, State.CANCELLED])
def test_a_call_for_a_payment_that_has_ended_is_dropped(paying, state):
    over = payment_in(state)
    paying.stores(over)
    tally = paying.run(message(a_payment(), receives=3))
    assert (tally.dropped, paying.stored(over), paying.ledger.posted) == (1, over, [])
    assert paying.queue.sent == paying.dead_letters.sent == []


def test_a_call_for_a_payment_that_cannot_be_read_keeps_its_message_and_no_other(paying):
    """A payment outlives its calls: what is not found is there, and not understood by this code."""
    known = a_payment(2)
    paying.stores(known)
    tally = paying.run(message(a_payment(1), number=1), message(known, number=2))
    assert (tally.failed_messages, tally.settled) == ({"message-1"}, 1)


def test_a_payment_cancelled_while_its_call_waits_for_the_instant_is_not_settled(paying):
    payment = a_payment(due_at=START + 2 * SECOND)
    paying.stores(payment)
    paying.ledger.before["post"].append(lambda: do(paying, money.cancel(payment, now=START)))
    tally = paying.run(message(payment))
    assert (tally.settled, tally.dropped, tally.failed_messages, paying.moved) == (0, 1, set(), [])
    assert paying.money["alice"] == STARTED


def test_a_payment_moved_while_its_call_waits_for_the_instant_is_left_to_its_new_call(paying):
    payment = a_payment(due_at=START + 2 * SECOND)
    paying.stores(payment)
    move = money.edit(payment, now=START, due_at=START + MINUTE, why="moved")
    paying.ledger.before["post"].append(lambda: do(paying, move))
    tally = paying.run(message(payment))
    assert (tally.settled, tally.dropped, paying.queue.sent) == (0, 1, [])
    assert paying.stored(payment) == move.after


class Drifting(ManualClock):
    """A little later whenever it is read."""

    def __init__(self, by):
        super().__init__()
        self._by = by

    def now(self):
        self.move(self._by)
        return super().now()


@pytest.mark.parametrize("ahead", range(1, 16))
def test_a_payment_moved_a_moment_ahead_while_it_is_settled_is_settled_then_or_left_to_its_new_call(ahead):
    """The new instant may come between any two reads of the clock."""
    paying, payment = Paying(), a_payment()
    paying.clock = Drifting(MILLISECOND)
    paying.stores(payment)
    move = money.edit(payment, now=START, due_at=START + ahead * MILLISECOND, why="moved")
    paying.ledger.before["post"].append(lambda: do(paying, move))
    tally = paying.run(message(payment))
    stored = paying.stored(payment)
    assert (tally.settled, tally.dropped, tally.failed_messages) in [(1, 0, set()), (0, 1, set())]
    assert (stored.state is State.COMPLETED) == (tally.settled == 1)
    assert stored.finished_at is None or stored.finished_at >= move.after.due_at


def test_an_amount_changed_while_its_call_waits_for_the_instant_is_what_is_settled(paying):
    payment = a_payment(due_at=START + 2 * SECOND)
    paying.stores(payment)
    edit = money.edit(payment, now=START, amount=250, why="changed amount")
    paying.ledger.before["post"].append(lambda: do(paying, edit))
    assert paying.run(message(payment)).settled == 1
    assert paying.money["bob"] == (1_250, 0)


def test_a_repeated_call_for_a_moved_payment_goes_on_to_its_new_instant(paying):
    payment = a_payment()
    paying.stores(payment)
    move = money.edit(payment, now=START - MINUTE, due_at=START + 30 * SECOND, why="moved")
    do(paying, move)
    paying.run(message(payment, receives=2))
    assert paying.sent == [(Via.SWEEP, Due.of(move.after), 29 * SECOND)]


def test_a_call_of_a_next_attempt_that_came_too_soon_is_sent_again(paying):
    tried = stumbled(a_payment())
    paying.stores(tried)
    tally = paying.run(message(tried, via=Via.RETRY))
    assert (tally.deferred, paying.sent) == (1, [(Via.RETRY, Due.of(tried), 9 * SECOND)])
