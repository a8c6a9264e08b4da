"""An account whose row does not agree with its journal is set right by a person, once, and the journal tells of it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from functions.api.accounts.deposit import DepositOrder
from functions.api.accounts.restate import QUIET, Restater
from postdate.domain.errors import (
    IdempotencyKeyReused,
    InsufficientFunds,
    InvalidState,
    NotFound,
    Unavailable,
    Unreadable,
)
from postdate.domain.movement import Type
from postdate.use_cases.auditing import PAUSES, Auditor
from postdate.use_cases.settling import Settling
from tests.unit.doubles import SECOND


class Books:
    """The account `third` has 1,000 by its journal, of which 100 are held, and rests; then somebody meddles with its
    row."""

    def __init__(self, bank):
        self.bank = bank
        order = DepositOrder(
            type=Type.DEPOSIT,
            account="third",
            amount=1000,
            reason=None,
            idempotency_key="k",
            fingerprint="deposit",
        )
        bank.cashier.move("demo", order)
        self.payment = bank.registered(payer="third", amount=100)
        self.auditor = Auditor(ledger=bank.ledger, clock=bank.clock)
        self.restater = Restater(
            ledger=bank.ledger,
            reservations=bank.reservations,
            auditor=self.auditor,
            clock=bank.clock,
            unique=bank.unique,
        )
        self.rest()

    def rest(self):
        """Waits until each index must contain the last change."""
        self.bank.clock.move(QUIET)

    def receive(self, amount, *, ahead=2 * SECOND):
        """A payment from the account `payer`, registered and settled."""
        payment = self.bank.registered(
            payee="third", amount=amount, due_at=self.bank.clock.now() + ahead, idempotency_key=f"in {amount}"
        )
        self.bank.clock.sleep_until(payment.due_at)
        Settling(self.bank.ledger, self.bank.clock).attempt([payment])

    def meddle(self, **parts):
        account = self.bank.ledger.account("demo", "third")
        self.bank.ledger._accounts["demo", "third"] = replace(account, **parts)

    def restate(self, *, account="third", key="k", reason="a table was restored"):
        return self.restater.restate(
            "demo", account, reason=reason, key=key, fingerprint=f"{account} {reason}"
        )

    @property
    def wrong(self):
        books = self.auditor.judged("demo", "third")
        return books.account.reserved != books.held or books.account.balance != books.moved

    @property
    def journal(self):
        return self.bank.ledger.movements("demo", "third", after="", limit=100)


@pytest.fixture
def books(bank):
    return Books(bank)


@pytest.mark.parametrize(
    ("available", "reserved", "told"),
    [
        (900, 0, "available +0, reserved +100"),
        (1000, 0, "available -100, reserved +100"),
        (0, 0, "available +900, reserved +100"),
        (5000, 200, "available -4100, reserved -100"),
    ],
)
def test_an_account_that_the_audit_names_is_set_to_its_journal(books, available, reserved, told):
    books.meddle(available=available, reserved=reserved)
    assert books.wrong
    movement = books.restate().movement
    assert (books.bank.money("third"), books.wrong) == ((900, 100), False)
    (kept,) = [each for each in books.journal if each.type is Type.ADJUSTMENT]
    assert (kept.id, kept.amount, kept.reason) == (movement.id, 0, f"a table was restored ({told})")


def test_a_payment_whose_hold_was_gone_settles_after_it(books):
    books.meddle(reserved=0)
    books.restate()
    books.bank.clock.sleep_until(books.payment.due_at)
    settled = Settling(books.bank.ledger, books.bank.clock).attempt([books.payment])[books.payment.id].payment
    assert settled.state == "COMPLETED"
    assert not books.wrong


def test_asked_again_with_its_key_it_is_answered_and_adds_nothing(books):
    books.meddle(available=0)
    first = books.restate()
    again = books.restate()
    assert (again.replayed, again.movement) == (True, first.movement)
    assert books.bank.money("third") == (900, 100)
    with pytest.raises(IdempotencyKeyReused):
        books.restate(reason="another")


def test_a_first_try_that_died_before_the_ledger_is_made_up_for(books):
    books.meddle(available=0)
    books.bank.ledger.unavailable = 1
    with pytest.raises(Unavailable):
        books.restate()
    with pytest.raises(IdempotencyKeyReused):
        books.restate(reason="another")
    assert books.restate().replayed
    assert (books.bank.money("third"), books.wrong) == ((900, 100), False)


def test_two_people_who_find_one_difference_add_it_once(books):
    """The second one is done while the first one is about to write."""
    books.meddle(available=0)
    books.bank.ledger.before["post"].append(lambda: books.restate(key="another"))
    with pytest.raises(InvalidState):
        books.restate()
    with pytest.raises(InvalidState):
        books.restate()
    assert (books.bank.money("third"), books.wrong) == ((900, 100), False)


@pytest.mark.parametrize("call", ["movements", "post"])
def test_one_request_sent_twice_at_once_is_answered_twice_and_adds_the_difference_once(books, call):
    """The second copy is done before the first one reads the journal, or before the first one writes."""
    books.meddle(available=0)
    copies = []
    books.bank.ledger.before[call].append(lambda: copies.append(books.restate()))
    copies.append(books.restate())
    assert [copy.movement for copy in copies] == [copies[0].movement] * 2
    assert (books.bank.money("third"), books.wrong) == ((900, 100), False)


def test_an_account_that_money_reaches_meanwhile_is_left_to_another_try(books):
    books.meddle(available=0)
    deposit = DepositOrder(
        type=Type.DEPOSIT, account="third", amount=7, reason=None, idempotency_key="d", fingerprint="7"
    )
    books.bank.ledger.before["post"].append(lambda: books.bank.cashier.move("demo", deposit))
    with pytest.raises(InvalidState):
        books.restate()
    with pytest.raises(InvalidState):
        books.restate()
    books.rest()
    assert books.restate().replayed
    assert (books.bank.money("third"), books.wrong) == ((907, 100), False)


def test_the_same_damage_done_twice_is_set_right_twice(books):
    """A backup that is restored brings back the version as well."""
    damaged = replace(books.bank.ledger.account("demo", "third"), available=0)
    for key in ("one", "two"):
        books.bank.ledger._accounts["demo", "third"] = damaged
        books.rest()
        books.restate(key=key)
        assert (books.bank.money("third"), books.wrong) == ((900, 100), False)


def test_an_index_that_is_behind_for_long_releases_no_hold(books):
    """The first look misses the payment whole, the second one finds it."""
    listed, missed = books.bank.ledger.payments_listed, iter(range(5))
    books.bank.ledger.payments_listed = lambda *given, **named: (
        [] if next(missed, None) is not None else listed(*given, **named)
    )
    with pytest.raises(Unavailable):
        books.restate()
    assert books.bank.money("third") == (900, 100)


def test_an_account_with_a_payment_that_cannot_be_read_is_left_alone(books):
    books.meddle(available=0)
    books.bank.ledger.payments = lambda ids: {}
    with pytest.raises(Unavailable):
        books.restate()
    assert books.bank.ledger._accounts["demo", "third"].available == 0


def test_where_nothing_is_wrong_nothing_is_done(books):
    books.bank.freeze("third")
    with pytest.raises(InvalidState) as refused:
        books.restate()
    assert refused.value.state == "FROZEN"
    assert [each.type for each in books.journal] == [Type.DEPOSIT]


def test_a_journal_that_has_less_than_what_is_held_is_no_measure(books):
    movement = books.journal[0]
    books.bank.ledger._movements[movement.id] = replace(movement, amount=50)
    with pytest.raises(InsufficientFunds):
        books.restate()
    assert books.bank.money("third") == (900, 100)


def test_an_account_that_never_stands_still_is_left_alone(books):
    books.meddle(available=0)
    account = books.bank.ledger.account
    versions = iter(range(100, 1000))
    books.bank.ledger.account = lambda tenant, id: replace(account(tenant, id), version=next(versions))
    with pytest.raises(Unavailable):
        books.restate()
    assert books.bank.ledger._accounts["demo", "third"].available == 0


def test_an_account_that_is_in_use_is_refused_by_its_last_change(books):
    books.receive(50)
    books.meddle(available=0)
    account = books.bank.ledger.account
    versions = iter(range(100, 1000))
    books.bank.ledger.account = lambda tenant, id: replace(account(tenant, id), version=next(versions))
    with pytest.raises(InvalidState, match="freeze an account that is in use"):
        books.restate()


def test_an_unknown_account_is_told(books):
    with pytest.raises(NotFound):
        books.restate(account="nobody")


def test_the_two_readings_of_an_account_lie_five_seconds_apart(books):
    books.meddle(available=0)
    began = books.bank.clock.now()
    books.restate()
    assert books.bank.clock.now() - began == 5 * SECOND + 2 * sum(PAUSES, timedelta(0))


def test_an_account_that_changed_a_short_time_ago_is_left_alone(books):
    books.receive(50)
    books.meddle(available=0)
    books.bank.clock.move(QUIET - SECOND)
    with pytest.raises(InvalidState, match="third changed at"):
        books.restate()
    assert books.bank.money("third") == (0, 100)
    books.bank.clock.move(SECOND)
    assert books.restate().replayed
    assert (books.bank.money("third"), books.wrong) == ((950, 100), False)


@pytest.mark.parametrize("lag", [11, 60])
def test_indexes_that_are_behind_at_both_looks_take_nothing_from_an_account(books, lag):
    books.bank.ledger.lag = lag * SECOND
    books.receive(50)
    with pytest.raises(InvalidState):
        books.restate()
    assert books.bank.money("third") == (950, 100)


@pytest.mark.parametrize("lag", [11, 60])
def test_a_hold_that_no_index_shows_yet_is_not_released(books, lag):
    books.bank.ledger.lag = lag * SECOND
    books.bank.registered(payer="third", amount=30, idempotency_key="another")
    with pytest.raises(InvalidState):
        books.restate()
    assert books.bank.money("third") == (870, 130)


def test_a_movement_that_one_index_lacks_is_found_by_the_other(books):
    """The payment was registered long ago and settled now: its movement is read by its own key."""
    books.bank.ledger.lag = timedelta(hours=5)
    books.receive(50, ahead=timedelta(hours=6))
    assert not books.wrong
    with pytest.raises(InvalidState, match="already agrees with its journal"):
        books.restate()


def test_an_account_with_a_movement_that_cannot_be_read_is_left_alone(books):
    books.meddle(available=0)
    movements = books.bank.ledger.movements

    def with_one_unreadable(*given, whole=False, **named):
        if whole:
            raise Unreadable
        return movements(*given, **named)[1:]

    books.bank.ledger.movements = with_one_unreadable
    with pytest.raises(Unavailable):
        books.restate()
    assert books.bank.money("third") == (0, 100)


def test_one_key_is_one_adjustment_whatever_the_adjustment_is(books):
    by_amount = DepositOrder(
        type=Type.ADJUSTMENT, account="third", amount=5, reason="r", idempotency_key="k", fingerprint="5"
    )
    books.meddle(available=0)
    books.restate(key="k")
    with pytest.raises(IdempotencyKeyReused):
        books.bank.cashier.move("demo", by_amount)
    books.bank.cashier.move("demo", replace(by_amount, idempotency_key="other"))
    with pytest.raises(IdempotencyKeyReused):
        books.restate(key="other")
    assert books.bank.money("third") == (905, 100)
