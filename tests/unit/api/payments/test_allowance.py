"""The limits of a key for what it pays, held under races and without counting a payment twice."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier, Lock

import pytest

from functions.api.caller import Caller
from functions.api.payments.allowance import Allowance
from functions.api.payments.register import RegisteredPayment
from postdate.domain.errors import IdempotencyInProgress, LimitExceeded, Unavailable
from postdate.stores.api_key import ApiKey
from postdate.stores.key_hashes import plain_hash_of
from postdate.stores.keys_memory import MemoryKeys
from tests.unit.api.payments.conftest import order

WRITE = frozenset({"payments:write"})


class LockedKeys(MemoryKeys):
    """Keys with conditional writes one after the other, as the table does it."""

    lock = Lock()

    def spend(self, id, amount, *, most, day):
        with self.lock:
            return super().spend(id, amount, most=most, day=day)


@pytest.fixture
def allowance(bank):
    key = ApiKey(id="k1", secret_sha256=plain_hash_of("s"), tenant="demo", scopes=WRITE)
    return Allowance(keys=LockedKeys(key), clock=bank.clock)


def caller(**limits):
    return Caller(tenant="demo", key_id="k1", scopes=WRITE, **limits)


def pay(bank, allowance, by, *orders):
    return allowance.registered(by, orders, lambda allowed: bank.registrar.register("demo", allowed))


def codes(answers):
    return ["done" if isinstance(each, RegisteredPayment) else each.code for each in answers]


def test_a_payment_above_the_keys_amount_is_refused(bank, allowance):
    answers = pay(bank, allowance, caller(amount_max=10), order(amount=10), order(amount=11))
    assert codes(answers) == ["done", "limit_exceeded"]
    assert "at most 10 for this key" in str(answers[1])


def test_the_sum_of_a_day_is_the_keys_and_begins_anew_with_the_day(bank, allowance):
    by = caller(amount_per_day_max=100)
    assert codes(pay(bank, allowance, by, order(amount=60))) == ["done"]
    assert codes(pay(bank, allowance, by, order(amount=41))) == ["limit_exceeded"]
    assert codes(pay(bank, allowance, by, order(amount=40))) == ["done"]
    bank.clock.sleep_until(bank.clock.now() + timedelta(days=1))
    assert codes(pay(bank, allowance, by, order(amount=100, due_at=bank.clock.now()))) == ["done"]


def test_of_a_batch_as_many_are_taken_as_fit(bank, allowance):
    orders = [order(amount=amount) for amount in (60, 50, 40, 1)]
    answers = pay(bank, allowance, caller(amount_per_day_max=100), *orders)
    assert codes(answers) == ["done", "limit_exceeded", "done", "limit_exceeded"]


def test_sixteen_threads_pay_no_more_than_the_day_allows(bank, allowance):
    by, together = caller(amount_per_day_max=100), Barrier(16)

    def pays(number):
        together.wait()
        return [codes(pay(bank, allowance, by, order(amount=7)))[0] for _ in range(3)]

    with ThreadPoolExecutor(16) as pool:
        answers = [each for thread in pool.map(pays, range(16)) for each in thread]
    assert answers.count("done") == 14
    assert bank.money("payer") == (1000 - 98, 98)


def test_a_repetition_counts_once_and_is_answered_at_the_limit_too(bank, allowance):
    by, first = caller(amount_per_day_max=100), order(amount=60)
    for _ in range(3):
        (answer,) = pay(bank, allowance, by, first)
        assert isinstance(answer, RegisteredPayment)
    assert codes(pay(bank, allowance, by, order(amount=40))) == ["done"]
    assert codes(pay(bank, allowance, by, first)) == ["done"]
    assert codes(pay(bank, allowance, by, order(amount=1))) == ["limit_exceeded"]


def test_a_refused_payment_is_given_back_and_its_repetition_counts(bank, allowance):
    """Otherwise a key that was refused once would pay uncounted later."""
    by, poor = caller(amount_per_day_max=1500), order(amount=1001)
    assert codes(pay(bank, allowance, by, poor)) == ["insufficient_funds"]
    assert codes(pay(bank, allowance, by, order(amount=1000))) == ["done"]
    bank.give("payer", 5000)
    bank.clock.sleep_until(bank.clock.now() + timedelta(minutes=10))
    assert codes(pay(bank, allowance, by, poor)) == ["limit_exceeded"]
    assert codes(pay(bank, allowance, by, order(amount=500))) == ["done"]


def test_one_key_twice_in_a_request_counts_once(bank, allowance):
    by, first = caller(amount_per_day_max=100), order(amount=40)
    assert codes(pay(bank, allowance, by, first, first)) == ["done", "done"]
    assert codes(pay(bank, allowance, by, order(amount=60))) == ["done"]


def test_one_key_in_two_requests_at_once_counts_once(bank, allowance):
    by, first = caller(amount_per_day_max=100), order(amount=40)

    def the_other_is_faster():
        bank.clock.move(timedelta(milliseconds=1))
        assert codes(pay(bank, allowance, by, first)) == ["done"]

    bank.ledger.before["post"].append(the_other_is_faster)
    assert codes(pay(bank, allowance, by, first)) == ["done"]
    assert codes(pay(bank, allowance, by, order(amount=60))) == ["done"]


@pytest.mark.parametrize("error", [Unavailable(), IdempotencyInProgress()], ids=lambda error: error.code)
def test_an_unknown_outcome_stays_counted_and_a_known_one_does_not(bank, allowance, error):
    by = caller(amount_per_day_max=100)
    assert allowance.registered(by, [order(amount=60)], lambda allowed: [error]) == [error]
    left = codes(pay(bank, allowance, by, order(amount=60)))
    assert left == (["done"] if isinstance(error, IdempotencyInProgress) else ["limit_exceeded"])


def test_a_changed_amount_counts_as_a_whole_and_a_refused_change_does_not(bank, allowance):
    by = caller(amount_max=80, amount_per_day_max=100)
    with pytest.raises(LimitExceeded):
        allowance.changed(by, 81)
    allowance.changed(by, 60)(LimitExceeded([("amount", "is wrong")]))
    allowance.changed(by, 60)(Unavailable())
    with pytest.raises(LimitExceeded):
        allowance.changed(by, 41)
    allowance.changed(by, None)(Unavailable())


def test_a_key_without_limits_writes_nothing(bank):
    allowance = Allowance(keys=None, clock=bank.clock)  # any use would raise
    assert codes(pay(bank, allowance, caller(), order(amount=60))) == ["done"]
    allowance.changed(caller(), 5)
