from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.accounts import forecast as forecasting
from functions.api.accounts.forecast import forecast
from postdate.domain import money
from postdate.domain.errors import LimitExceeded
from postdate.domain.payment import Funding
from postdate.domain.retry import RetryPolicy
from postdate.stores.ledger import Listed
from postdate.stores.ledger_memory import MemoryLedger
from tests.unit.api.payments.conftest import ANYBODY, FAR
from tests.unit.doubles import MINUTE, PLAN, SECOND, START

MONTH = timedelta(days=30)
LATER = {"funding": Funding.AT_EXECUTION}


def seen(bank, account="payer", until=START + MONTH):
    return forecast(bank.ledger.account("demo", account), until, bank.ledger)


def test_an_account_without_payments_stays_as_it_is(bank):
    found = seen(bank)
    assert (found.now, found.then, found.falls_short_at, found.steps) == (
        found.now,
        found.now,
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
    assert (found.then.balance, found.then.available, found.then.reserved) == (620, 620, 0)
    assert (found.now.balance, found.now.available, found.now.reserved) == (1000, 700, 300)


def test_what_is_forecast_is_what_comes(bank):
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
    assert (found.then.available, found.then.reserved) == bank.money("payer")


def test_money_that_is_held_is_not_there_for_what_is_funded_at_its_instant(bank):
    bank.registered(amount=900, due_at=FAR + MINUTE)
    bank.registered(amount=101, due_at=FAR, **LATER)
    found = seen(bank)
    assert (found.falls_short_at, found.then.balance) == (FAR, 100)


def test_what_comes_in_before_covers_what_goes_out_after(bank):
    bank.give("payee", 500)
    bank.registered(amount=1400, due_at=FAR + SECOND, **LATER)
    assert seen(bank).falls_short_at == FAR + SECOND
    bank.registered(amount=400, payer="payee", payee="payer", due_at=FAR)
    assert seen(bank).falls_short_at is None


def test_only_what_is_due_until_then_counts(bank):
    bank.registered(amount=300, due_at=FAR)
    assert seen(bank, until=FAR - SECOND).then.balance == 1000
    assert seen(bank, until=FAR).then.balance == 700


def test_what_has_ended_does_not_count_and_what_is_executing_does(bank):
    done, cancelled, stuck = (bank.registered(amount=100) for _ in range(3))
    bank.changer.cancel(ANYBODY, cancelled.id, version=None)
    retry = RetryPolicy(max_attempts=1)
    bank.ledger.post([money.stumble(stuck, now=FAR, why="conflict", retry=retry, draw=0.0)])
    bank.settle(done)
    found = seen(bank)
    assert [step.payment_id for step in found.steps] == [stuck.id]
    assert found.then.balance == 800


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
    assert (len(found.steps), found.then.balance) == (100, 895)


class Many(MemoryLedger):
    """As many payments as told, all alike, without the time it takes to make them."""

    def __init__(self, payment, number):
        super().__init__(plan=PLAN)
        self._each = {f"{number:08}": replace(payment, id=f"{number:08}") for number in range(number)}

    def payments_listed(self, wanted, *, after, limit):
        first = int(after) + 1 if after else 0
        places = [f"{number:08}" for number in range(first, min(first + limit, len(self._each)))]
        return [Listed(place=place, id=place) for place in places]

    def payments(self, ids):
        return {id: self._each[id] for id in ids}


def test_too_many_payments_ask_for_a_nearer_instant(bank):
    payment = bank.registered(amount=1)
    account = replace(bank.ledger.account("demo", "payer"), available=10**6, reserved=10**6)
    most = Many(payment, forecasting.PAYMENTS_MAX)
    assert forecast(account, FAR, most).then.balance == 2 * 10**6 - forecasting.PAYMENTS_MAX
    with pytest.raises(LimitExceeded) as refused:
        forecast(account, FAR, Many(payment, forecasting.PAYMENTS_MAX + 1))
    assert refused.value.fields[0][0] == "until"


def test_too_many_to_look_at_are_not_looked_at(bank):
    done = bank.settle(bank.registered(amount=1))
    account = bank.ledger.account("demo", "payer")
    forecast(account, FAR, Many(done, 600))
    with pytest.raises(LimitExceeded) as refused:
        forecast(account, FAR, Many(done, forecasting.LOOKED_AT_MAX + 1))
    assert refused.value.fields[0][0] == "account_id"
