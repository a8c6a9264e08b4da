"""A batch while ledger and queues fail, answers get lost, and workers die."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postdate.domain import money
from postdate.domain.due import Due, Via
from postdate.domain.errors import Unavailable
from postdate.domain.payment import Funding, State
from postdate.domain.posting import Leg, Posting
from postdate.stores.ledger import PostingAnswer
from tests.unit.doubles import LEASE, MINUTE, SECOND, START, STEADY, a_payment, message, parked, stumbled
from tests.unit.settle.conftest import Paying

ALWAYS = 99


class Death(BaseException):
    """The worker is gone: nothing catches it."""


def die(*_):
    raise Death


def refuse(*_):
    raise Unavailable


def nothing():
    pass


def dies(paying, *messages):
    with pytest.raises(Death):
        paying.run(*messages)
    paying.clock.move(LEASE + 3 * SECOND)


def do(paying, *postings):
    assert {posted.answer for posted in paying.ledger.post(postings)} == {PostingAnswer.DONE}


def test_a_ledger_that_cannot_be_read_sends_every_message_back(paying):
    payments = [a_payment(1), a_payment(2)]
    paying.stores(*payments)
    paying.ledger.before["payments"].append(refuse)
    tally = paying.run(message(payments[0], number=1), message(payments[1], number=2))
    assert (tally.failed_messages, paying.ledger.posted) == ({"message-1", "message-2"}, [])


@pytest.mark.parametrize("trouble", ["unavailable", "refused"])
def test_a_payment_that_the_ledger_does_not_take_is_noted_called_again_and_delays_no_other(paying, trouble):
    stuck, fine = a_payment(1), a_payment(2)
    paying.stores(stuck, fine)
    paying.ledger.before["post"].append(lambda: trip(paying, stuck, trouble))
    paying.ledger.before["post"].append(lambda: paying.ledger.refused.clear())
    tally = paying.run(message(stuck, number=1), message(fine, number=2))
    assert (tally.settled, tally.stumbled, tally.failed_messages) == (1, 1, set())
    noted = paying.stored(stuck)
    assert (noted.state, noted.attempts, noted.lease_until) == (State.EXECUTING, 1, START + 10 * SECOND)
    assert paying.sent == [(Via.RETRY, Due.of(noted), 9 * SECOND)]
    assert paying.money["alice"] == (800, 100)
    paying.run(paying.arrival())
    done = paying.stored(stuck)
    assert (done.state, done.attempts, done.finished_at) == (State.COMPLETED, 2, START + 10 * SECOND)
    assert Counter(paying.moved) == {stuck.id: 1, fine.id: 1}


def trip(paying, payment, trouble):
    if trouble == "refused":
        paying.ledger.refused.add(payment.id)
    else:
        paying.ledger.unavailable[payment.id] = 1


def test_a_payment_that_cannot_be_noted_comes_back_with_its_own_message_and_no_other(paying):
    stuck, fine = a_payment(1), a_payment(2)
    paying.stores(stuck, fine)
    paying.ledger.unavailable[stuck.id] = 2
    tally = paying.run(message(stuck, number=1), message(fine, number=2))
    assert (tally.failed_messages, tally.settled, tally.stumbled) == ({"message-1"}, 1, 0)
    assert paying.stored(stuck) == stuck
    assert paying.queue.sent == []
    paying.clock.move(LEASE)
    assert paying.run(message(stuck, receives=2)).settled == 1


def test_a_settlement_whose_answer_was_lost_is_made_once_and_noted_as_nothing_else(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unanswered[payment.id] = 1
    tally = paying.run(message(payment))
    assert paying.stored(payment).state is State.COMPLETED
    assert (tally.dropped, tally.stumbled, tally.failed_messages) == (1, 0, set())
    assert paying.moved == [payment.id]


def test_a_settlement_whose_answer_was_lost_with_every_answer_after_it_is_made_once(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unanswered[payment.id] = 1
    paying.ledger.before["payments"].extend([nothing, refuse])
    assert paying.run(message(payment)).failed_messages == {"message-1"}
    assert paying.run(message(payment, receives=2)).dropped == 1
    assert (paying.moved, paying.money["bob"]) == ([payment.id], (1_100, 0))


def test_a_note_whose_answer_was_lost_is_followed_by_the_call_it_belongs_to(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1
    paying.ledger.unanswered[payment.id] = 1
    assert paying.run(message(payment)).failed_messages == {"message-1"}
    noted = paying.stored(payment)
    assert (noted.state, paying.queue.sent) == (State.EXECUTING, [])
    assert paying.run(message(payment, receives=2)).deferred == 1
    paying.run(paying.arrival())
    assert paying.stored(payment).finished_at == noted.due_at


def test_a_payment_cancelled_before_its_stumble_was_noted_is_left_alone(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1

    def cancelled_in_between():
        do(paying, money.cancel(payment, now=START))

    paying.ledger.before["post"].extend([nothing, cancelled_in_between])
    tally = paying.run(message(payment))
    assert (tally.dropped, tally.stumbled, tally.failed_messages) == (1, 0, set())
    assert paying.stored(payment).state is State.CANCELLED


def test_a_payment_changed_before_its_stumble_was_noted_comes_back_with_its_message(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1
    edit = money.edit(payment, now=START, amount=150, why="changed amount")
    paying.ledger.before["post"].extend([nothing, lambda: do(paying, edit)])
    assert paying.run(message(payment)).failed_messages == {"message-1"}
    assert paying.stored(payment) == edit.after


def test_a_missing_hold_is_no_failure_and_ends_with_a_person(paying):
    payment = a_payment()
    paying.stores(payment)
    do(paying, Posting(tenant="demo", at=START, legs=(Leg(account="alice", available=100, reserved=-100),)))
    tally = paying.run(message(payment))
    assert (tally.stumbled, tally.failed) == (1, 0)
    while paying.queue.sent:
        tally = paying.run(paying.arrival())
    left = paying.stored(payment)
    assert (tally.parked, left.state, left.lease_until) == (1, State.EXECUTING, None)
    assert (left.attempts, left.error_code) == (STEADY.max_attempts, None)
    assert paying.letters == [Due.of(left)]


def test_when_all_attempts_are_used_up_the_hold_stays_and_a_letter_says_so(paying):
    payment = a_payment()
    paying.stores(payment)

    def unreachable():
        paying.ledger.unavailable[payment.id] = 1

    paying.ledger.before["post"].extend([unreachable, nothing] * STEADY.max_attempts)
    tallies = [paying.run(message(payment))]
    while paying.queue.sent:
        tallies.append(paying.run(paying.arrival()))
    assert [(tally.stumbled, tally.parked) for tally in tallies] == [(1, 0), (1, 0), (0, 1)]
    left = paying.stored(payment)
    assert (left.attempts, left.lease_until, left.held) == (3, None, 100)
    assert paying.letters == [Due.of(left)]
    assert paying.money["alice"] == (900, 100)

    paying.clock.move(MINUTE)
    tally = paying.run(message(*paying.letters, via=Via.DEAD, by="operation:op_1"))
    assert (tally.settled, paying.moved) == (1, [payment.id])
    assert paying.money["alice"] == (900, 0)


def left_to_a_person(paying):
    left = parked()
    paying.stores(left)
    paying.clock.sleep_until(left.due_at)
    return left


def test_a_redriven_payment_that_does_not_get_through_is_left_to_a_person_again(paying):
    left = left_to_a_person(paying)
    paying.ledger.unavailable[left.id] = 1
    tally = paying.run(message(left, via=Via.DEAD, by="operation:op_1"))
    again = paying.stored(left)
    assert (tally.parked, again.version, again.lease_until) == (1, left.version + 1, None)
    assert paying.letters == [Due.of(again)]
    assert again.history[-1].by == "operation:op_1"
    assert paying.run(message(left, via=Via.DEAD)).settled == 0, "that was its chance"
    assert paying.run(message(again, via=Via.DEAD)).settled == 1


def test_a_mere_duplicate_tries_no_payment_that_is_left_to_a_person(paying):
    left = left_to_a_person(paying)
    tally = paying.run(message(a_payment()))
    assert (tally.dropped, paying.letters, paying.stored(left)) == (1, [], left)
    assert paying.ledger.posted == []


def test_a_letter_that_may_be_missing_is_sent_by_the_message_that_comes_back(paying):
    left = left_to_a_person(paying)
    tally = paying.run(message(a_payment(), receives=2))
    assert (paying.letters, tally.failed_messages, paying.stored(left)) == ([Due.of(left)], set(), left)
    assert paying.ledger.posted == []


def test_a_letter_that_could_not_be_sent_is_sent_by_the_message_that_comes_back(paying):
    payment = replace(stumbled(stumbled(a_payment())), due_at=START, lease_until=START)
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1
    paying.dead_letters.refuses = 1
    assert paying.run(message(payment)).failed_messages == {"message-1"}
    assert paying.letters == []
    assert paying.run(message(payment, receives=2)).failed_messages == set()
    assert paying.letters == [Due.of(paying.stored(payment))]


def test_a_retry_that_could_not_be_sent_is_sent_by_the_message_that_comes_back(paying):
    stuck, fine = a_payment(1), a_payment(2)
    paying.stores(stuck, fine)
    paying.ledger.unavailable[stuck.id] = 1
    paying.queue.refuses = 1
    tally = paying.run(message(stuck, number=1), message(fine, number=2))
    assert tally.failed_messages == {"message-1"}
    paying.run(message(stuck, receives=2))
    assert paying.sent == [(Via.SWEEP, Due.of(paying.stored(stuck)), 9 * SECOND)]
    paying.run(paying.arrival())
    assert paying.stored(stuck).state is State.COMPLETED


def test_a_deferred_call_that_could_not_be_sent_on_comes_back_as_its_own_message(paying):
    far = a_payment(due_at=START + MINUTE)
    paying.stores(far)
    paying.queue.refuses = 1
    assert paying.run(message(far)).failed_messages == {"message-1"}


def test_a_worker_that_dies_before_the_posting_leaves_a_payment_that_waits(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.before["post"].append(die)
    dies(paying, message(payment))
    assert paying.stored(payment) == payment
    tally = paying.run(message(payment, receives=2))
    assert (tally.settled, tally.lateness_ms) == (1, [43_000.0])


def test_a_worker_that_dies_after_the_posting_leaves_a_payment_that_has_ended(paying):
    first, second = a_payment(1), a_payment(2, due_at=START + SECOND)
    paying.stores(first, second)
    paying.ledger.before["post"].extend([nothing, die])
    dies(paying, message(first, second))
    tally = paying.run(message(first, second, receives=2))
    assert (tally.settled, tally.dropped) == (1, 1)
    assert Counter(paying.moved) == {first.id: 1, second.id: 1}


def test_a_worker_that_dies_between_a_refusal_and_its_failure_leaves_a_payment_that_waits(paying):
    payment = a_payment(amount=2_000, funding=Funding.AT_EXECUTION)
    paying.stores(payment)
    paying.ledger.before["post"].extend([nothing, die])
    dies(paying, message(payment))
    assert paying.stored(payment) == payment
    assert paying.run(message(payment, receives=2)).failed == 1


def test_a_worker_that_dies_before_the_retry_was_sent_has_it_sent_by_its_own_message(paying):
    """The payment waits for an attempt without a call: the lease is long enough for one more message."""
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1
    paying.queue.before.append(die)
    with pytest.raises(Death):
        paying.run(message(payment))
    noted = paying.stored(payment)
    assert (noted.state, paying.queue.sent) == (State.EXECUTING, [])
    assert paying.run(message(payment, receives=2)).deferred == 1
    paying.run(paying.arrival())
    assert paying.stored(payment).finished_at == noted.due_at


def test_a_worker_that_dies_before_the_retry_was_sent_is_made_up_for_after_its_instant_too(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1
    paying.queue.before.append(die)
    dies(paying, message(payment))
    assert paying.run(message(payment, receives=2)).settled == 1


def test_a_worker_that_dies_before_the_letter_was_sent_has_it_sent_by_its_own_message(paying):
    payment = replace(stumbled(stumbled(a_payment())), due_at=START, lease_until=START)
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 1
    paying.dead_letters.before.append(die)
    dies(paying, message(payment))
    assert paying.letters == []
    paying.run(message(payment, receives=2))
    assert paying.letters == [Due.of(paying.stored(payment))]


def test_two_workers_at_once_move_the_money_once(paying):
    payments = [a_payment(number) for number in (1, 2, 3)]
    paying.stores(*payments)
    others = []
    paying.ledger.before["post"].append(lambda: others.append(paying.run(message(*payments, receives=2))))
    tally = paying.run(message(*payments))
    assert (others[0].settled, tally.settled, tally.dropped) == (3, 0, 3)
    assert tally.failed_messages == others[0].failed_messages == set()
    assert Counter(paying.moved) == {payment.id: 1 for payment in payments}
    assert (paying.money["alice"], paying.money["bob"]) == ((700, 0), (1_300, 0))


def test_two_workers_that_fail_one_payment_give_back_its_money_once(paying):
    payment = a_payment(payee="nobody")
    paying.stores(payment)
    paying.ledger.before["post"].extend([nothing, lambda: paying.run(message(payment, receives=2))])
    tally = paying.run(message(payment))
    assert (tally.failed, tally.dropped) == (0, 1)
    assert (paying.money["alice"], paying.stored(payment).version) == ((1_000, 0), 2)


def test_of_two_workers_that_stumble_over_one_payment_one_calls_it_again(paying):
    payment = a_payment()
    paying.stores(payment)
    paying.ledger.unavailable[payment.id] = 2
    paying.ledger.before["post"].extend([nothing, lambda: paying.run(message(payment, number=2))])
    paying.run(message(payment, number=1))
    assert paying.stored(payment).attempts == 1
    assert [via for via, _, _ in paying.sent] == [Via.RETRY]


FAULTS = st.sampled_from(["nothing", "unavailable", "unanswered", "refused", "die", "unread"])


@given(
    st.lists(st.tuples(FAULTS, st.booleans(), st.booleans()), max_size=8),
    st.sampled_from(Funding),
    st.sampled_from([100, 1_500]),
)
def test_whatever_fails_the_payment_ends_once_and_no_money_is_lost(faults, funding, amount):
    """Messages come back until they are taken; a letter is redriven; after the faults everything comes to its end."""
    paying = Paying()
    payment = a_payment(amount=amount if funding is Funding.AT_EXECUTION else 100, funding=funding)
    paying.stores(payment)
    waiting, receives = [message(payment)], 1
    for fault, queue_fails, letters_fail in [*faults, *[("nothing", False, False)] * 30]:
        paying.ledger.before.clear()
        paying.ledger.unavailable.clear()
        paying.ledger.unanswered.clear()
        paying.ledger.refused.clear()
        paying.queue.refuses, paying.dead_letters.refuses = queue_fails, letters_fail
        match fault:
            case "unavailable" | "unanswered":
                getattr(paying.ledger, fault)[payment.id] = 1
            case "refused":
                paying.ledger.refused.add(payment.id)
            case "die":
                paying.ledger.before["post"].append(die)
            case "unread":
                paying.ledger.before["payments"].append(refuse)
        if not waiting:
            continue
        try:
            failed = paying.run(*waiting).failed_messages
        except Death:
            failed = {each.message_id for each in waiting}
        waiting = [replace(each, receives=each.receives + 1) for each in waiting]
        waiting = [each for each in waiting if each.message_id in failed]
        for packet, _ in [*paying.queue.take(), *paying.dead_letters.take()]:
            receives += 1
            waiting.append(message(*packet.dues, number=receives, via=packet.via, seen=packet.seen))
        paying.clock.move(LEASE)
    stored = paying.stored(payment)
    fits = amount <= 1_000 or funding is Funding.RESERVE
    assert stored.state is (State.COMPLETED if fits else State.FAILED)
    assert paying.moved == [payment.id] * fits
    moved = stored.amount * fits
    assert paying.money == {"alice": (1_000 - moved, 0), "bob": (1_000 + moved, 0), "carol": (1_000, 0)}
    assert [line.version for line in stored.history] == list(range(1, stored.version + 1))
    assert sum(line.to.is_final for line in stored.history) == 1
