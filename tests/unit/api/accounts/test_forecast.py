from datetime import timedelta

import pytest

from functions.api.accounts.forecast import begun, forecast, going_on
from functions.api.listing import within
from postdate.domain import settlement
from postdate.domain.payment import Funding
from postdate.domain.retry import RetryPolicy
from postdate.stores.ledger_memory import MemoryLedger
from tests.unit.api.payments.conftest import ANYBODY, FAR
from tests.unit.doubles import MINUTE, PLAN, SECOND, START

MONTH = timedelta(days=30)
LATER = {"funding": Funding.AT_EXECUTION}


def seen(bank, account="payer", until=START + MONTH):
    began = begun(bank.ledger.account("demo", account), until)
    return forecast(began, bank.ledger, now=START, has_time=lambda: True)


def test_an_account_without_payments_stays_as_it_is(bank):
    found = seen(bank)
    assert (found.before, found.after, found.falls_short_at, found.steps) == (
        found.before,
        found.before,
        None,
        (),
    )


def test_payments_are_counted_on_either_side_in_the_order_of_their_instants(bank):
    bank.give("payee", 50)
    third = bank.registered(amount=300, due_at=FAR + 3 * MINUTE)
    first = bank.registered(amount=20, payer="payee", payee="payer", due_at=FAR + MINUTE)
    second = bank.registered(amount=100, due_at=FAR + 2 * MINUTE, **LATER)
    found = seen(bank)
    assert [(step.payment_id, step.amount, step.balance) for step in found.steps] == [
        (first.id, 20, 1020),
        (second.id, -100, 920),
        (third.id, -300, 620),
    ]
    assert (found.after.balance, found.after.available, found.after.reserved) == (620, 620, 0)
    assert (found.before.balance, found.before.available, found.before.reserved) == (1000, 700, 300)


def test_the_forecast_agrees_with_the_later_settlements(bank):
    bank.give("payee", 50)
    made = [
        bank.registered(amount=20, payer="payee", payee="payer", due_at=FAR),
        bank.registered(amount=900, due_at=FAR + SECOND, **LATER),
        bank.registered(amount=500, due_at=FAR + 2 * SECOND, **LATER),
        bank.registered(amount=70, due_at=FAR + 3 * SECOND, **LATER),
    ]
    found = seen(bank)
    assert found.falls_short_at == FAR + 2 * SECOND
    for payment in made:
        bank.settle(payment)
    assert (found.after.available, found.after.reserved) == bank.money("payer")


def test_money_that_is_held_is_not_there_for_what_is_funded_at_its_instant(bank):
    bank.registered(amount=900, due_at=FAR + MINUTE)
    bank.registered(amount=101, due_at=FAR, **LATER)
    found = seen(bank)
    assert (found.falls_short_at, found.after.balance) == (FAR, 100)


def test_an_earlier_incoming_payment_covers_a_later_outgoing_one(bank):
    bank.give("payee", 500)
    bank.registered(amount=1400, due_at=FAR + SECOND, **LATER)
    assert seen(bank).falls_short_at == FAR + SECOND
    bank.registered(amount=400, payer="payee", payee="payer", due_at=FAR)
    assert seen(bank).falls_short_at is None


def test_only_what_is_due_until_then_counts(bank):
    bank.registered(amount=300, due_at=FAR)
    assert seen(bank, until=FAR - SECOND).after.balance == 1000
    assert seen(bank, until=FAR).after.balance == 700


def test_a_forecast_counts_executing_payments_and_no_ended_ones(bank):
    done, cancelled, stuck = (bank.registered(amount=100) for _ in range(3))
    bank.changer.cancel(ANYBODY, cancelled.id, version=None)
    retry = RetryPolicy(max_attempts=1)
    bank.ledger.post([settlement.stumble(stuck, now=FAR, why="conflict", retry=retry, draw=0.0)])
    bank.settle(done)
    found = seen(bank)
    assert [step.payment_id for step in found.steps] == [stuck.id]
    assert found.after.balance == 800


def test_a_payment_that_was_moved_counts_at_its_new_instant(bank):
    payment = bank.registered(amount=100, due_at=START + 2 * MONTH)
    bank.changer.edit(
        ANYBODY, payment.id, version=None, due_at=FAR, amount=None, instant_field="scheduled_time"
    )
    assert [step.at for step in seen(bank).steps] == [FAR]


def test_a_hundred_movements_are_shown_and_all_are_counted(bank):
    for number in range(105):
        bank.registered(amount=1, due_at=FAR + number * SECOND)
    found = seen(bank)
    assert (len(found.steps), found.after.balance) == (100, 895)


class Slow(MemoryLedger):
    """Each look at payments takes a second."""

    def __init__(self, ledger, clock):
        super().__init__(shards=PLAN)
        self._ledger, self._clock = ledger, clock
        self.read = []

    def payments_listed(self, wanted, *, after, limit):
        return self._ledger.payments_listed(wanted, after=after, limit=limit)

    def payments(self, ids):
        self._clock.move(SECOND)
        self.read += ids
        return self._ledger.payments(ids)


def parts(bank, *, seconds, until=FAR + MONTH):
    """The forecast in parts that take so many seconds each, as requests with its cursor make them."""
    slow = Slow(bank.ledger, bank.clock)
    account = bank.ledger.account("demo", "payer")
    found = []
    while not found or found[-1].place is not None:
        given = going_on(account, found[-1].mark) if found else begun(account, until)
        has_time = within(bank.clock, seconds * SECOND)
        found.append(forecast(given, slow, now=START, has_time=has_time))
    return found


def test_a_forecast_that_takes_too_long_goes_on_where_it_was(bank):
    for number in range(450):
        bank.registered(amount=1 + number % 3, due_at=FAR + number * SECOND, **LATER)
    (whole,) = parts(bank, seconds=60)
    partly = parts(bank, seconds=1)
    assert len(partly) == 3
    assert [each.place is None for each in partly] == [False, False, True]
    assert (partly[-1].after, partly[-1].falls_short_at) == (whole.after, whole.falls_short_at)
    assert {each.before for each in partly} == {whole.before}


def test_where_it_falls_short_is_remembered_by_what_goes_on(bank):
    bank.registered(amount=1001, due_at=FAR, **LATER)
    for number in range(1, 450):
        bank.registered(amount=1, due_at=FAR + number * SECOND, **LATER)
    assert {each.falls_short_at for each in parts(bank, seconds=1)} == {FAR}


def test_each_part_does_at_least_something(bank):
    for number in range(450):
        bank.registered(amount=1, due_at=FAR + number * SECOND, **LATER)
    assert len(parts(bank, seconds=0)) == 3


def test_a_forecast_counts_parked_payments_and_reads_no_old_ended_ones(bank):
    stuck, done = (bank.registered(amount=100) for _ in range(2))
    retry = RetryPolicy(max_attempts=1)
    bank.ledger.post([settlement.stumble(stuck, now=FAR, why="conflict", retry=retry, draw=0.0)])
    bank.settle(done)
    now, looked_at = FAR + timedelta(days=9), Slow(bank.ledger, bank.clock)
    began = begun(bank.ledger.account("demo", "payer"), now + MONTH)
    found = forecast(began, looked_at, now=now, has_time=lambda: True)
    assert looked_at.read == [stuck.id]
    assert [step.payment_id for step in found.steps] == [stuck.id]


@pytest.mark.parametrize(
    "mark", ["", "x", "1 2 3 4 5  ", "1 2 3 4 5  1797591900000", "1 2 3 4 y  " + "0" * 42]
)
def test_a_mark_that_is_none_of_ours_is_refused(bank, mark):
    with pytest.raises(ValueError, match="no mark"):
        going_on(bank.ledger.account("demo", "payer"), mark)
