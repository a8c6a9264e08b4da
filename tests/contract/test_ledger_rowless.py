"""AWS promises the account that stands in a transaction's way, and may leave it out of the refusal."""

from datetime import datetime

import pytest
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from postdate.domain.account import Status
from postdate.stores.ledger import PostingAnswer
from tests.boundary import Boundary, Send
from tests.contract.conftest import OnAws
from tests.contract.money import Money


@pytest.fixture
def money(on_aws: OnAws, boundary: Boundary, now: datetime) -> Money:
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(alice=10, bob=0)
    boundary.rowless = True
    return money


def test_an_account_that_is_short_is_not_missing(money: Money) -> None:
    assert money.answers(money.payment("alice", "bob", 11)) == [PostingAnswer.SHORT]


def test_an_account_that_is_frozen_is_not_missing(money: Money) -> None:
    money.ledger.set_status(money.tenant, "alice", Status.FROZEN, now=money.now)
    assert money.answers(money.payment("alice", "bob", 1)) == [PostingAnswer.FROZEN]


def test_an_account_that_is_missing_is_unknown(money: Money) -> None:
    assert money.answers(money.payment("carol", "bob", 1)) == [PostingAnswer.UNKNOWN]


def test_of_payments_that_are_too_much_together_those_are_held_that_there_is_money_for(money: Money) -> None:
    payments = [money.payment("alice", "bob", 4) for _ in range(3)]
    assert money.answers(*payments) == [PostingAnswer.DONE, PostingAnswer.DONE, PostingAnswer.SHORT]


def test_an_account_that_refuses_no_more_when_it_is_read_is_written(money: Money, boundary: Boundary) -> None:
    """Money arrives between the refusal and the read."""

    def deposited(request: AWSPreparedRequest, send: Send) -> AWSResponse:
        assert money.answers(money.deposit("alice", 1)) == [PostingAnswer.DONE]
        return send()

    boundary.fail("BatchGetItem", deposited)
    assert money.answers(money.payment("alice", "bob", 11)) == [PostingAnswer.DONE]
    assert boundary.faults_left == 0
