"""Payments of strangers in one transaction: the answers are those that each would have by itself."""

from datetime import datetime, timedelta

import pytest

from postdate.domain import settlement
from postdate.domain.account import Status
from postdate.domain.payment import Funding
from postdate.domain.posting import Posting
from postdate.stores.ledger import PostingAnswer
from tests.boundary import Boundary, lost
from tests.contract.conftest import OnAws
from tests.contract.money import Money
from tests.contract.test_ledger_faults import WRITE, cancelled

AT_EXECUTION = Funding.AT_EXECUTION
PAIRS = 6


def strangers(money: Money, *, short: int | None = None) -> list[Posting]:
    """One payment of 10 for each pair of accounts. The payer with the number `short` has nothing."""
    postings = []
    for number in range(PAIRS):
        payer, payee = f"payer-{number}", f"payee-{number}"
        money.accounts(**{payer: 0 if number == short else 10, payee: 0})
        postings.append(money.settle(money.registered(payer, payee, 10, funding=AT_EXECUTION)))
    return postings


def together(money: Money, postings: list[Posting]) -> list[PostingAnswer]:
    return [posted.answer for posted in money.ledger.post(postings, together=True)]


def received(money: Money) -> list[int]:
    return [available for available, _ in money.balances(*(f"payee-{number}" for number in range(PAIRS)))]


def test_all_are_written(money: Money) -> None:
    assert together(money, strangers(money)) == [PostingAnswer.DONE] * PAIRS
    assert received(money) == [10] * PAIRS


def test_one_that_falls_short_spoils_no_other(money: Money) -> None:
    answers = together(money, strangers(money, short=2))
    assert answers == [PostingAnswer.SHORT if number == 2 else PostingAnswer.DONE for number in range(PAIRS)]
    assert received(money) == [0 if number == 2 else 10 for number in range(PAIRS)]


def test_one_that_changed_meanwhile_or_is_frozen_spoils_no_other(money: Money, now: datetime) -> None:
    postings = strangers(money)
    assert money.answers(postings[0]) == [PostingAnswer.DONE]
    money.ledger.set_status(money.tenant, "payer-4", Status.FROZEN, now=now)
    answers = together(money, postings[1:])
    assert answers == [
        PostingAnswer.FROZEN if number == 4 else PostingAnswer.DONE for number in range(1, PAIRS)
    ]
    assert postings[0].before is not None
    later = settlement.settle(postings[0].before, now=now + timedelta(seconds=1))
    assert together(money, [later, money.deposit("payee-4", 5)]) == [PostingAnswer.STALE, PostingAnswer.DONE]
    assert received(money) == [5 if number == 4 else 10 for number in range(PAIRS)]


@pytest.fixture
def on_aws_money(on_aws: OnAws, now: datetime) -> Money:
    return Money(ledger=on_aws.ledger, now=now)


def test_a_conflict_about_one_row_sends_each_by_itself(on_aws_money: Money, boundary: Boundary) -> None:
    postings = strangers(on_aws_money)
    boundary.fail(WRITE, cancelled("TransactionConflict", *["None"] * (4 * PAIRS - 1)))
    before = len(boundary.asked(WRITE))
    assert together(on_aws_money, postings) == [PostingAnswer.DONE] * PAIRS
    assert len(boundary.asked(WRITE)) - before == 1 + PAIRS
    assert received(on_aws_money) == [10] * PAIRS


def test_a_commit_whose_answer_is_lost_moves_the_money_once(on_aws_money: Money, boundary: Boundary) -> None:
    postings = strangers(on_aws_money)
    boundary.fail(WRITE, *[lost] * 5)
    assert together(on_aws_money, postings) == [PostingAnswer.DONE] * PAIRS
    assert received(on_aws_money) == [10] * PAIRS
