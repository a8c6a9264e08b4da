"""Ends of payments: the effect of each answer of the ledger; no payment affects another."""

import logging

import pytest

from postdate.domain import executions, money, settlement
from postdate.domain.account import Status
from postdate.domain.errors import Unavailable
from postdate.domain.payment import Funding, State
from postdate.domain.posting import Leg, Posting
from postdate.runtime.observability import logger
from postdate.stores.ledger import PostingAnswer
from postdate.use_cases.settling import Settling
from tests.unit.doubles import MINUTE, SECOND, START, a_payment, parked, payment_in, stumbled

AT_EXECUTION = Funding.AT_EXECUTION
ALWAYS = 99


def refuse(*_):
    raise Unavailable


def do(paying, *postings):
    assert {posted.answer for posted in paying.ledger.post(postings)} == {PostingAnswer.DONE}


def test_all_are_settled_in_one_posting_each_and_one_call(paying):
    payments = [a_payment(number, amount=10) for number in range(1, 31)]
    paying.stores(*payments)
    settled = paying.settle(*payments)
    assert {payment.state for payment in settled.values()} == {State.COMPLETED}
    assert [len(postings) for postings in paying.ledger.posted] == [30]
    assert paying.money["alice"] == (700, 0)
    assert paying.money["bob"] == (1_300, 0)
    assert sorted(paying.moved) == sorted(payment.id for payment in payments)


def test_settlements_answer_the_payment_as_it_is_stored(paying):
    done, short = a_payment(1), a_payment(2, amount=2_000, funding=AT_EXECUTION)
    paying.stores(done, short)
    for id, payment in paying.settle(done, short).items():
        assert payment == paying.ledger.payment(id)


def test_a_payment_that_has_ended_or_is_not_due_is_answered_as_it_is(paying):
    given = [
        payment_in(State.COMPLETED, a_payment(1)),
        payment_in(State.FAILED, a_payment(2)),
        payment_in(State.CANCELLED, a_payment(3)),
        a_payment(4, due_at=START + SECOND / 1000),
    ]
    assert paying.settle(*given) == {payment.id: payment for payment in given}
    assert paying.ledger.posted == []


def test_an_execution_has_the_name_that_was_given_for_its_payment(paying):
    first, second = a_payment(1), a_payment(2, amount=2_000, funding=AT_EXECUTION)
    paying.stores(first, second)
    paying.settle(first, second)
    third = a_payment(3)
    paying.stores(third)
    Settling(paying.ledger, paying.clock).attempt([third], {third.id: "mine", first.id: "other"})
    names = [paying.stored(payment).executions[-1].id for payment in (first, second, third)]
    assert names == [executions.execution_id(first), executions.execution_id(second), "mine"]


def test_a_balance_that_decides_at_the_instant_may_be_too_small(paying):
    payment, fine = a_payment(1, amount=1_001, funding=AT_EXECUTION), a_payment(2)
    paying.stores(payment, fine)
    failed = paying.settle(payment, fine)[payment.id]
    assert (failed.state, failed.error_code) == (State.FAILED, "insufficient_funds")
    assert failed.error == "the account alice has too little available money"
    assert paying.stored(fine).state is State.COMPLETED
    assert paying.money == {"alice": (900, 0), "bob": (1_100, 0), "carol": (1_000, 0)}
    assert paying.moved == [fine.id]


@pytest.mark.parametrize("frozen", ["alice", "bob"])
@pytest.mark.parametrize("funding", Funding)
def test_a_frozen_account_fails_the_payment_and_gives_back_what_was_held(paying, frozen, funding):
    payment, fine = a_payment(1, funding=funding), a_payment(2, payer="carol", payee="carol2")
    paying.ledger.opens("carol2")
    paying.stores(payment, fine)
    paying.ledger.set_status("demo", frozen, Status.FROZEN, now=START)
    failed = paying.settle(payment, fine)[payment.id]
    assert (failed.state, failed.error_code) == (State.FAILED, "account_frozen")
    assert failed.error == f"the account {frozen} is frozen"
    assert paying.money["alice"] == paying.money["bob"] == (1_000, 0)
    assert paying.stored(fine).state is State.COMPLETED


@pytest.mark.parametrize("funding", Funding)
def test_a_payee_who_is_not_there_fails_the_payment_and_gives_back_what_was_held(paying, funding):
    payment = a_payment(payee="nobody", funding=funding)
    paying.stores(payment)
    failed = paying.settle(payment)[payment.id]
    assert (failed.state, failed.error_code) == (State.FAILED, "account_not_found")
    assert failed.error == "there is no account nobody"
    assert paying.money["alice"] == (1_000, 0)


@pytest.mark.parametrize("funding", Funding)
def test_a_payer_who_is_not_there_fails_the_payment_and_gets_nothing_back(paying, funding):
    payment = a_payment(funding=funding)
    paying.stores(payment)
    paying.ledger.loses("alice")
    failed = paying.settle(payment)[payment.id]
    assert (failed.state, failed.error_code) == (State.FAILED, "account_not_found")
    assert failed.error == "there is no account alice"
    assert paying.money["bob"] == (1_000, 0)
    assert [len(postings[0].legs) for postings in paying.ledger.posted] == [2, 0]


def test_a_payer_who_is_found_missing_only_when_something_is_to_be_given_back_gets_nothing(paying):
    payment = a_payment(payee="nobody")
    paying.stores(payment)
    paying.ledger.before["post"].extend([lambda: None, lambda: paying.ledger.loses("alice")])
    failed = paying.settle(payment)[payment.id]
    assert (failed.state, failed.error) == (State.FAILED, "there is no account nobody")
    assert [len(postings[0].legs) for postings in paying.ledger.posted] == [2, 1, 0]


@pytest.fixture
def told():
    """The actions that were logged as errors."""
    seen = []

    class Ear(logging.Handler):
        def emit(self, record):
            if record.levelno >= logging.ERROR:
                seen.append(record.action)

    ear = Ear()
    logger.addHandler(ear)
    yield seen
    logger.removeHandler(ear)


def lose_hold(paying):
    leg = Leg(account="alice", available=100, reserved=-100)
    do(paying, Posting(tenant="demo", at=START, legs=(leg,)))


def test_a_hold_that_is_missing_fails_no_payment_but_calls_a_person(paying, told):
    payment, fine = a_payment(1), a_payment(2, payer="carol")
    paying.stores(payment, fine)
    lose_hold(paying)
    settled = paying.settle(payment, fine)
    assert settled[payment.id] is None
    assert paying.stored(payment) == payment
    assert settled[fine.id].state is State.COMPLETED
    assert told == ["hold_missing"]


def test_a_failure_that_has_not_enough_to_give_back_is_not_written(paying, told):
    payment = a_payment(payee="nobody")
    paying.stores(payment)
    paying.ledger.before["post"].extend([lambda: None, lambda: lose_hold(paying)])
    assert paying.settle(payment) == {payment.id: None}
    assert paying.stored(payment) == payment
    assert told == ["not_failed"]


def test_a_movement_that_is_there_without_its_payment_calls_a_person(paying, told):
    payment = a_payment()
    paying.stores(payment)
    row = settlement.settle(payment, now=START).movement
    do(paying, Posting(tenant="demo", at=START, movement=row))
    assert paying.settle(payment) == {payment.id: None}
    assert paying.stored(payment) == payment
    assert told == ["moved_already"]


@pytest.mark.parametrize("trouble", ["unavailable", "refused"])
def test_a_payment_that_the_ledger_does_not_take_is_answered_with_none_and_spoils_no_other(paying, trouble):
    stuck, fine = a_payment(1), a_payment(2)
    paying.stores(stuck, fine)
    if trouble == "refused":
        paying.ledger.refused.add(stuck.id)
    else:
        paying.ledger.unavailable[stuck.id] = ALWAYS
    settled = paying.settle(stuck, fine)
    assert settled[stuck.id] is None
    assert settled[fine.id].state is State.COMPLETED
    assert paying.stored(stuck) == stuck


def test_a_failure_that_cannot_be_written_now_is_stuck_as_well(paying):
    payment = a_payment(amount=2_000, funding=AT_EXECUTION)
    paying.stores(payment)
    paying.ledger.before["post"].extend(
        [lambda: None, lambda: paying.ledger.unavailable.update({payment.id: 1})]
    )
    assert paying.settle(payment) == {payment.id: None}
    assert paying.stored(payment) == payment


def cancelled(payment):
    return money.cancel(payment, now=START)


def test_a_payment_that_was_cancelled_first_stays_so(paying):
    payment, fine = a_payment(1), a_payment(2)
    paying.stores(payment, fine)
    paying.ledger.before["post"].append(lambda: do(paying, cancelled(payment)))
    settled = paying.settle(payment, fine)
    assert settled[payment.id].state is State.CANCELLED
    assert settled[fine.id].state is State.COMPLETED
    assert paying.money["alice"] == (900, 0)
    assert paying.moved == [fine.id]


def test_an_amount_that_was_changed_first_is_what_is_settled(paying):
    payment = a_payment()
    paying.stores(payment)
    edit = money.edit(payment, now=START, amount=250, why="changed amount")
    paying.ledger.before["post"].append(lambda: do(paying, edit))
    settled = paying.settle(payment)[payment.id]
    assert (settled.state, settled.version, settled.amount) == (State.COMPLETED, 3, 250)
    assert paying.money["alice"] == (750, 0)
    assert paying.money["bob"] == (1_250, 0)


def test_a_payment_that_was_moved_first_is_left_for_its_new_instant(paying):
    payment = a_payment()
    paying.stores(payment)
    move = money.edit(payment, now=START, due_at=START + MINUTE, why="moved")
    paying.ledger.before["post"].append(lambda: do(paying, move))
    assert paying.settle(payment) == {payment.id: move.after}
    assert paying.money["alice"] == (900, 100)


def test_a_payment_that_somebody_stumbled_over_first_is_left_to_its_next_attempt(paying):
    payment = a_payment()
    paying.stores(payment)
    other = stumbled(payment)
    paying.ledger.before["post"].append(
        lambda: do(paying, Posting(tenant="demo", at=START, before=payment, after=other))
    )
    assert paying.settle(payment) == {payment.id: other}


def test_a_payment_that_somebody_left_to_a_person_meanwhile_is_left_so(paying):
    payment = a_payment()
    paying.stores(payment)
    left = parked(payment)
    paying.clock.sleep_until(left.due_at)
    paying.ledger.before["post"].append(
        lambda: do(paying, Posting(tenant="demo", at=START, before=payment, after=left))
    )
    assert paying.settle(payment) == {payment.id: left}


def test_a_failure_that_comes_after_a_cancel_is_none(paying):
    payment = a_payment(payee="nobody")
    paying.stores(payment)
    paying.ledger.before["post"].extend([lambda: None, lambda: do(paying, cancelled(payment))])
    assert paying.settle(payment)[payment.id].state is State.CANCELLED
    assert paying.money["alice"] == (1_000, 0)


def test_a_failure_that_comes_after_a_change_is_decided_from_what_it_became(paying):
    payment = a_payment(amount=1_001, funding=AT_EXECUTION)
    paying.stores(payment)
    edit = money.edit(payment, now=START, amount=200, why="changed amount")
    paying.ledger.before["post"].extend([lambda: None, lambda: do(paying, edit)])
    assert paying.settle(payment)[payment.id].state is State.COMPLETED
    assert paying.money["bob"] == (1_200, 0)


def test_a_payment_that_changes_each_time_is_given_up_for_now(paying):
    payment = a_payment()
    paying.stores(payment)
    tries = []

    def changes():
        tries.append(1)
        paying.ledger.before["post"].appendleft(lambda: None)
        do(paying, money.edit(paying.stored(payment), now=START, why="again"))

    paying.ledger.before["post"].extend([changes] * ALWAYS)
    assert paying.settle(payment) == {payment.id: None}
    assert 3 <= len(tries) <= 10


def test_a_payment_that_changed_and_cannot_be_read_is_stuck(paying):
    payment = a_payment()
    paying.stores(payment)
    edit = money.edit(payment, now=START, amount=250, why="changed amount")
    paying.ledger.before["post"].append(lambda: do(paying, edit))
    paying.ledger.before["payments"].append(refuse)
    assert paying.settle(payment) == {payment.id: None}
    assert paying.stored(payment) == edit.after


@pytest.mark.parametrize("make", [stumbled, parked], ids=["tried", "parked"])
def test_one_that_was_tried_before_settles_as_a_new_one_does(paying, make):
    payment = make(a_payment())
    paying.stores(payment)
    paying.clock.sleep_until(payment.due_at)
    settled = paying.settle(payment)[payment.id]
    assert (settled.state, settled.attempts, settled.error) == (State.COMPLETED, payment.attempts + 1, None)
    assert paying.money["bob"] == (1_100, 0)


def test_no_failure_tells_of_a_balance(paying):
    payment = a_payment(amount=987_654, funding=AT_EXECUTION)
    paying.stores(payment)
    failed = paying.settle(payment)[payment.id]
    told = [failed.error, *(line.why for line in failed.history), *(each.error for each in failed.executions)]
    assert not any(character.isdigit() for text in told if text for character in text)
