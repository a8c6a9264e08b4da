"""The time for which messages stay hidden: a lost worker's come back in seconds, a living worker's do not."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.settle.hidden import GRACE, HiddenMessages
from postdate.domain.errors import Unavailable
from postdate.runtime import deadline
from tests.unit.doubles import LEASE, SECOND, START, ManualClock, a_payment, message
from tests.unit.settle.conftest import Paying

MILLISECOND = SECOND / 1000
# The calls of a batch come one to two seconds early, and a packet has the payments of one second.
AHEAD = st.integers(1_000, 2_999)
# A posting in time takes milliseconds; half a second is already a bad case.
USUAL = st.integers(0, 499)
WITHIN = 5 * SECOND


@given(st.lists(AHEAD, min_size=1, max_size=10), USUAL)
def test_a_batch_in_time_hides_its_messages_with_one_request(ahead, took):
    paying = Paying()
    last = max(ahead)
    payments = [a_payment(number, due_at=START + each * MILLISECOND) for number, each in enumerate(ahead)]
    paying.stores(*payments)
    takes_long = {last: took}

    def post():
        """Only the last posting takes so long: the ones before it end before the last instant."""
        now = (paying.clock.now() - START) // MILLISECOND
        paying.clock.move(takes_long.get(now, 0) * MILLISECOND)
        asked_again()

    paying.ledger.before["post"].extend([post] * len(ahead))
    tally = paying.run(*(message(payment, number=number) for number, payment in enumerate(payments)))
    assert tally.settled == len(ahead)
    ((hidden),) = paying.hidden
    assert min(hidden.values()) >= paying.clock.now()


@given(st.lists(AHEAD, min_size=1, max_size=10))
def test_the_messages_of_a_lost_worker_come_back_within_five_seconds_of_each_instant(ahead):
    paying = Paying()
    payments = [a_payment(number, due_at=START + each * MILLISECOND) for number, each in enumerate(ahead)]
    paying.run(*(message(payment, number=number) for number, payment in enumerate(payments)))
    (hidden,) = paying.hidden
    assert all(
        timedelta(0) < hidden[f"message-{number}"] - payment.due_at < WITHIN
        for number, payment in enumerate(payments)
    )


def test_messages_are_hidden_before_anything_is_read(paying):
    payment = a_payment()
    paying.stores(payment)
    hidden = []
    paying.ledger.before["payments"].append(lambda: hidden.extend(paying.hidden))
    paying.run(message(payment))
    assert len(hidden) == 1


def test_a_posting_that_takes_long_hides_its_messages_again_before_they_come_back(paying):
    """The ledger tries a posting again and again: each try is a call to AWS."""
    payment = a_payment(due_at=START + SECOND)
    paying.stores(payment)
    paying.ledger.before["post"].append(lambda: [work(paying, seconds=0.25) for _ in range(40)])
    tally = paying.run(message(payment))
    assert tally.settled == 1
    until = paying.hidden[0]["message-1"]
    for hidden in paying.hidden[1:]:
        assert hidden["message-1"] - GRACE < until
        until = hidden["message-1"]
    assert until > paying.clock.now() == START + 11 * SECOND
    assert len(paying.hidden) <= 8


def test_a_worker_with_a_long_agenda_hides_its_messages_again(paying):
    payments = [a_payment(number, due_at=START + number * SECOND) for number in (1, 2, 3)]
    paying.stores(*payments)
    paying.ledger.before["post"].append(lambda: paying.clock.move(8 * SECOND))
    tally = paying.run(message(*payments))
    assert [each["message-1"] for each in paying.hidden] == [START + 5 * SECOND, START + 11 * SECOND]
    assert tally.settled == 3


def test_a_call_that_is_sent_again_keeps_no_message_longer(paying):
    near, far = a_payment(1, due_at=START + SECOND), a_payment(2, due_at=START + 60 * SECOND)
    paying.stores(near, far)
    paying.run(message(near, number=1), message(far, number=2))
    assert paying.hidden == [{"message-1": START + 3 * SECOND, "message-2": START + 3 * SECOND}]


@pytest.mark.parametrize(("receives", "seconds"), [(1, 2), (2, 4), (3, 8), (5, 32), (6, 43), (60, 43)])
def test_a_message_that_came_back_stays_hidden_for_longer(paying, receives, seconds):
    paying.run(message(a_payment(), receives=receives), message(a_payment(2), number=2))
    assert paying.hidden == [{"message-1": START + seconds * SECOND, "message-2": START + 2 * SECOND}]


def test_eight_deliveries_to_workers_that_die_outlast_two_minutes():
    hidden, clock = [], ManualClock()
    for receives in range(1, 8):
        worker = HiddenMessages([message(receives=receives)], hide=hidden.extend, clock=clock, lease=LEASE)
        worker.renew_if_due()
    assert sum((time for _, time in hidden), timedelta(0)) > timedelta(minutes=2)


def test_the_request_that_hides_messages_makes_no_further_one(paying):
    """The request that hides messages is a call to AWS, and each call looks whether messages have to be hidden."""
    hidden = HiddenMessages([message()], hide=lambda hidden: asked_again(), clock=paying.clock, lease=LEASE)
    with hidden.renewing():
        asked_again()
        paying.clock.move(2 * SECOND)
        asked_again()
    assert hidden.renew_at == paying.clock.now() + 1.5 * SECOND


def test_no_message_is_hidden_once_the_batch_has_ended(paying):
    paying.ledger.before["payments"].append(unavailable)
    paying.run(message(a_payment()))
    paying.clock.move(LEASE)
    asked_again()
    assert len(paying.hidden) == 1


def asked_again():
    deadline.of_this_process().precede()


def work(paying, *, seconds):
    paying.clock.move(seconds * SECOND)
    asked_again()


def unavailable():
    raise Unavailable("no")
