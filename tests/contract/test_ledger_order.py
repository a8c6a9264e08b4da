"""Postings of one call have the outcome that they would have one after the other, in the order of their instants."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import pytest

from postdate.domain.payment import Funding, Payment
from postdate.stores.ledger import PostingAnswer
from tests.boundary import Boundary
from tests.contract.conftest import OnAws
from tests.contract.money import MINUTE, Money
from tests.contract.test_ledger_faults import CONFLICT, WRITE

DONE, SHORT, UNAVAILABLE = PostingAnswer.DONE, PostingAnswer.SHORT, PostingAnswer.UNAVAILABLE


def unfunded(money: Money, payer: str, payee: str, amount: int, *, minute: int = 0) -> Payment:
    """A payment without a hold: the balance decides at its settlement, an hour later."""
    due_at = money.now + minute * MINUTE
    return money.registered(payer, payee, amount, funding=Funding.AT_EXECUTION, due_at=due_at)


def settled(money: Money, *payments: Payment) -> list[PostingAnswer]:
    late = replace(money, now=money.now + 60 * MINUTE)
    return money.answers(*map(late.settle, payments))


def test_two_accounts_without_money_cannot_pay_each_other(money: Money) -> None:
    money.accounts(alice=0, bob=0)
    there, back = unfunded(money, "alice", "bob", 1000), unfunded(money, "bob", "alice", 1000)
    assert settled(money, there, back) == [SHORT, SHORT]
    assert money.balances("alice", "bob") == [(0, 0), (0, 0)]
    assert money.journal("alice") == []


def test_a_third_payment_beside_them_changes_nothing(money: Money) -> None:
    money.accounts(alice=0, bob=0, carol=0)
    there, back = unfunded(money, "alice", "bob", 1000), unfunded(money, "bob", "alice", 1000)
    assert settled(money, there, back, unfunded(money, "alice", "carol", 1)) == [SHORT, SHORT, SHORT]


@pytest.mark.parametrize("given_first", ["earlier", "later"])
def test_no_payment_is_paid_from_money_that_arrives_later(money: Money, given_first: str) -> None:
    money.accounts(alice=0, bob=100, carol=0)
    earlier = unfunded(money, "alice", "carol", 100)
    later = money.registered("bob", "alice", 100, due_at=money.now + 5 * MINUTE)
    if given_first == "earlier":
        assert settled(money, earlier, later) == [SHORT, DONE]
    else:
        assert settled(money, later, earlier) == [DONE, SHORT]
    assert money.balances("alice", "bob", "carol") == [(100, 0), (0, 0), (0, 0)]


@pytest.mark.parametrize("given_first", ["earlier", "later"])
def test_a_payment_is_paid_from_money_that_arrived_earlier(money: Money, given_first: str) -> None:
    money.accounts(alice=0, bob=100, carol=0)
    earlier = money.registered("bob", "alice", 100)
    later = unfunded(money, "alice", "carol", 100, minute=5)
    pair = (earlier, later) if given_first == "earlier" else (later, earlier)
    assert settled(money, *pair) == [DONE, DONE]
    assert money.balances("alice", "bob", "carol") == [(0, 0), (0, 0), (100, 0)]


def test_the_order_of_instants_holds_across_the_transactions_of_one_call(money: Money) -> None:
    """One transaction takes at most 33 of these."""
    givers = {f"giver-{number}": 10 for number in range(80)}
    money.accounts(alice=0, bob=0, carol=0, **givers)
    incoming = [
        money.registered(name, "alice", 10, due_at=money.now + place * MINUTE / 4)
        for place, name in enumerate(givers)
    ]
    too_early = unfunded(money, "alice", "bob", 410, minute=10)  # when 400 have arrived
    in_time = unfunded(money, "alice", "carol", 790, minute=20)
    answers = settled(money, in_time, too_early, *reversed(incoming))
    assert answers == [DONE, SHORT, *[DONE] * 80]
    assert money.balances("alice", "bob", "carol") == [(10, 0), (0, 0), (790, 0)]


def test_an_account_that_cannot_pay_spoils_no_other_payment_of_its_group(money: Money) -> None:
    money.accounts(alice=0, bob=50, carol=0, dora=5)
    first = unfunded(money, "alice", "carol", 1)
    second = money.registered("bob", "alice", 30, due_at=money.now + MINUTE)
    third = unfunded(money, "alice", "dora", 30, minute=2)
    fourth = unfunded(money, "dora", "bob", 35, minute=3)
    assert settled(money, fourth, third, second, first) == [DONE, DONE, DONE, SHORT]
    assert money.balances("alice", "bob", "carol", "dora") == [(0, 0), (55, 0), (0, 0), (0, 0)]


@pytest.mark.parametrize("seed", range(12))
def test_any_group_has_the_outcome_of_its_postings_one_by_one(money: Money, seed: int) -> None:
    draws = Random(seed)
    names = ["alice", "bob", "carol", "dora"][: draws.choice((2, 3, 4))]
    balances = {name: draws.choice((0, 0, 50, 300)) for name in names}
    money.accounts(**balances)
    payments = []
    for place in range(draws.choice((4, 12, 60))):
        payer, payee = draws.sample(names, 2)
        amount, due_at = draws.choice((1, 10, 40, 100)), money.now + place * timedelta(seconds=7)
        held = draws.random() < 0.4 and balances[payer] >= amount
        funding = Funding.RESERVE if held else Funding.AT_EXECUTION
        payments.append(money.registered(payer, payee, amount, due_at=due_at, funding=funding))
        balances[payer] -= amount if held else 0
    expected = _one_by_one(balances, payments)
    order = draws.sample(range(len(payments)), len(payments))
    answers = settled(money, *(payments[place] for place in order))
    assert answers == [expected[place] for place in order]
    assert money.balances(*names) == [(balances[name], 0) for name in names]


def test_a_payment_does_not_fail_for_lack_of_money_whose_arrival_nobody_answered(
    on_aws: OnAws, boundary: Boundary, now: datetime
) -> None:
    money = Money(ledger=on_aws.ledger, now=now)
    givers = {f"giver-{number}": 10 for number in range(33)}
    money.accounts(alice=0, bob=0, **givers)
    incoming = [money.registered(name, "alice", 10) for name in givers]
    outgoing = unfunded(money, "alice", "bob", 100, minute=1)
    boundary.fail(WRITE, *[CONFLICT] * 8)
    assert settled(money, *incoming, outgoing) == [UNAVAILABLE] * 34
    assert boundary.faults_left == 0
    assert settled(money, *incoming, outgoing) == [DONE] * 34


def _one_by_one(available: dict[str, int], payments: Sequence[Payment]) -> list[PostingAnswer]:
    """Changes `available` as the payments do."""
    answers = []
    for payment in payments:
        if not payment.held and available[payment.payer] < payment.amount:
            answers.append(SHORT)
            continue
        available[payment.payer] -= 0 if payment.held else payment.amount
        available[payment.payee] += payment.amount
        answers.append(DONE)
    return answers
