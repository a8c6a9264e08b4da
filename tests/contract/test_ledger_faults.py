"""AWS's answers to a transaction beside success and refusal. The local engine gives none of them by itself."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from postdate.domain import money as steps
from postdate.domain import settlement
from postdate.domain.account import Status
from postdate.domain.errors import Unavailable
from postdate.domain.payment import Payment
from postdate.domain.posting import Posting
from postdate.domain.retry import RetryPolicy
from postdate.stores.ledger import PostingAnswer
from postdate.stores.ledger_dynamo import DynamoLedger
from tests.boundary import Boundary, Fault, lost, refused
from tests.contract.conftest import OnAws
from tests.contract.examples import PLAN
from tests.contract.money import Money

_HOUR: Final = timedelta(hours=1)
WRITE = "TransactWriteItems"
SDK_TRIES = 5


@pytest.fixture
def on_aws_money(on_aws: OnAws, now: Any) -> Money:
    return Money(ledger=on_aws.ledger, now=now)


def cancelled(*codes: str) -> Fault:
    reasons = [{"Code": code} for code in codes]
    return refused("TransactionCanceledException", CancellationReasons=reasons)


CONFLICT = cancelled("None", "TransactionConflict", "None", "None")


def ready(money: Money, payments: int = 1) -> list[Payment]:
    money.accounts(alice=100, bob=0)
    return [money.registered("alice", "bob", 10) for _ in range(payments)]


def stands(money: Money, posting: Posting) -> bool:
    assert posting.after is not None
    return money.ledger.payment(posting.after.id) == posting.after


@pytest.mark.parametrize("code", ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_commit_in_conflict_waits_a_little_longer_each_time_and_tries_again(
    on_aws: OnAws, on_aws_money: Money, boundary: Boundary, code: str
) -> None:
    (payment,) = ready(on_aws_money)
    boundary.fail(WRITE, *[cancelled("None", code, "None", "None")] * 7)
    settled = on_aws_money.settle(payment)
    assert on_aws_money.answers(settled) == [PostingAnswer.DONE]
    assert boundary.faults_left == 0
    assert on_aws.pauses == [0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.5]
    assert on_aws_money.balances("alice", "bob") == [(90, 0), (10, 0)]


def test_a_commit_that_is_always_in_conflict_gives_up_and_writes_nothing(
    on_aws_money: Money, boundary: Boundary
) -> None:
    (payment,) = ready(on_aws_money)
    boundary.fail(WRITE, *[CONFLICT] * 8)
    assert on_aws_money.answers(on_aws_money.settle(payment)) == [PostingAnswer.UNAVAILABLE]
    assert boundary.faults_left == 0
    assert on_aws_money.balances("alice", "bob") == [(90, 10), (0, 0)]
    assert on_aws_money.answers(on_aws_money.settle(payment)) == [PostingAnswer.DONE]


def test_a_conflict_beside_a_condition_that_fails_takes_only_that_one_out(
    on_aws_money: Money, boundary: Boundary
) -> None:
    first, second = ready(on_aws_money, 2)
    cancelled_first = steps.cancel(first, now=on_aws_money.now)
    assert cancelled_first is not None
    on_aws_money.answers(cancelled_first)
    boundary.fail(
        WRITE, cancelled("ConditionalCheckFailed", "None", "None", "None", "TransactionConflict", "None")
    )
    answers = on_aws_money.answers(on_aws_money.settle(first), on_aws_money.settle(second))
    assert answers == [PostingAnswer.STALE, PostingAnswer.DONE]
    assert on_aws_money.balances("alice", "bob") == [(90, 0), (10, 0)]


@pytest.mark.parametrize("code", ["ThrottlingException", "InternalServerError", "RequestLimitExceeded"])
def test_a_service_that_does_not_answer_for_a_while_is_asked_again(
    on_aws_money: Money, boundary: Boundary, code: str
) -> None:
    (payment,) = ready(on_aws_money)
    boundary.fail(WRITE, *[refused(code, 500)] * SDK_TRIES)
    assert on_aws_money.answers(on_aws_money.settle(payment)) == [PostingAnswer.DONE]
    assert boundary.faults_left == 0


@pytest.mark.parametrize("tries", [1, SDK_TRIES, SDK_TRIES + 1])
def test_a_posting_whose_answer_gets_lost_is_known_as_ones_own(
    on_aws_money: Money, boundary: Boundary, tries: int
) -> None:
    first, second = ready(on_aws_money, 2)
    boundary.fail(WRITE, *[lost] * tries)
    settled = on_aws_money.settle(first), on_aws_money.settle(second)
    assert on_aws_money.answers(*settled) == [PostingAnswer.DONE, PostingAnswer.DONE]
    assert boundary.faults_left == 0
    assert all(stands(on_aws_money, each) for each in settled)
    assert on_aws_money.balances("alice", "bob") == [(80, 0), (20, 0)]
    assert len(on_aws_money.journal("bob")) == 2


def test_a_registration_and_a_deposit_whose_answers_get_lost_are_made_once(
    on_aws_money: Money, boundary: Boundary
) -> None:
    ready(on_aws_money)
    boundary.fail(WRITE, *[lost] * SDK_TRIES)
    posting = on_aws_money.payment("alice", "bob", 5)
    assert on_aws_money.answers(posting) == [PostingAnswer.DONE]
    boundary.fail(WRITE, *[lost] * SDK_TRIES)
    deposit = on_aws_money.deposit("alice", 1000)
    assert on_aws_money.answers(deposit) == [PostingAnswer.DONE]
    assert on_aws_money.balances("alice") == [(1085, 15)]


def test_a_posting_that_dynamodb_will_never_take_spoils_none_of_those_it_is_written_with(
    on_aws_money: Money, boundary: Boundary
) -> None:
    first, second = ready(on_aws_money, 2)
    boundary.fail(
        WRITE,
        *[refused("ValidationException")] * 2,
        when=lambda call: call.names(first.id),
    )
    answers = on_aws_money.answers(on_aws_money.settle(first), on_aws_money.settle(second))
    assert answers == [PostingAnswer.REFUSED, PostingAnswer.DONE]
    assert on_aws_money.balances("alice", "bob") == [(80, 10), (10, 0)]


def test_an_account_whose_opening_meets_a_transaction_is_not_taken_for_one_that_is_there(
    on_aws_money: Money, boundary: Boundary
) -> None:
    boundary.fail(WRITE, *[cancelled("TransactionConflict")] * 8)
    with pytest.raises(Unavailable):
        on_aws_money.accounts(alice=0)


def test_a_payment_settled_alone_takes_seventeen_units_from_its_hold_to_its_journal(
    on_aws: OnAws, on_aws_money: Money, boundary: Boundary
) -> None:
    on_aws_money.accounts(alice=100, bob=0)

    def pays() -> list[PostingAnswer]:
        payment = on_aws_money.registered("alice", "bob", 10)
        return on_aws_money.answers(on_aws_money.settle(payment))

    units = _taken(on_aws, pays)
    assert units == [7, 10]


@pytest.mark.parametrize(
    ("change", "units"),
    [
        (lambda payment, now: steps.edit(payment, now=now, due_at=now + _HOUR, why="changed"), 2 + 6 + 2 + 2),
        (lambda payment, now: steps.edit(payment, now=now, description="d", why="changed"), 2),
        (lambda payment, now: steps.cancel(payment, now=now), 2 + 1 + 2),
        (
            lambda payment, now: settlement.fail(payment, now=now, code="insufficient_funds", why="no"),
            2 + 1 + 2,
        ),
    ],
    ids=["instant", "description", "cancel", "fail"],
)
def test_a_change_takes_as_many_units_as_its_rows_and_the_entries_that_change(
    on_aws: OnAws, on_aws_money: Money, change: Callable[[Payment, datetime], Posting], units: int
) -> None:
    """The payment 2, its account 2, a pointer 2; an entry that goes to another place 2, one that is new 1."""
    on_aws_money.accounts(alice=100, bob=0)
    payment = on_aws_money.registered("alice", "bob", 10)
    taken = _taken(on_aws, lambda: on_aws_money.answers(change(payment, on_aws_money.now)))
    assert taken == [units]


def test_a_freeze_of_a_busy_account_waits_for_its_turn(
    on_aws: OnAws, on_aws_money: Money, boundary: Boundary
) -> None:
    ready(on_aws_money)
    boundary.fail(WRITE, *[cancelled("TransactionConflict")] * 7)
    frozen = on_aws_money.ledger.set_status(on_aws_money.tenant, "alice", Status.FROZEN, now=on_aws_money.now)
    assert frozen is not None
    assert frozen.status is Status.FROZEN
    assert len(on_aws.pauses) == 7


def test_a_refusal_after_another_was_judged_loses_no_answer(on_aws_money: Money, boundary: Boundary) -> None:
    first, second = ready(on_aws_money, 2)
    gone = steps.cancel(first, now=on_aws_money.now)
    assert gone is not None
    on_aws_money.answers(gone)
    boundary.fail(
        WRITE,
        cancelled("ConditionalCheckFailed", "None", "None", "None", "None", "None"),
        refused("AccessDeniedException"),
    )
    answers = on_aws_money.answers(on_aws_money.settle(first), on_aws_money.settle(second))
    assert answers == [PostingAnswer.STALE, PostingAnswer.REFUSED]


def test_another_number_of_listings_makes_no_deposit_twice(on_aws: OnAws, on_aws_money: Money) -> None:
    on_aws_money.accounts(alice=0)
    deposits = [on_aws_money.deposit("alice", 10) for _ in range(8)]
    assert on_aws_money.answers(*deposits) == [PostingAnswer.DONE] * 8
    more = DynamoLedger(
        payments_table=on_aws.names["payments"],
        accounts_table=on_aws.names["accounts"],
        journal_table=on_aws.names["journal"],
        client=on_aws.dynamodb,
        shards=PLAN,
        listing_shards=16,
    )
    assert {posted.answer for posted in more.post(deposits)} <= {PostingAnswer.STALE, PostingAnswer.DONE}
    assert on_aws_money.balances("alice") == [(80, 0)]
    assert len(more.movements(on_aws_money.tenant, "alice", after="", limit=100)) == 8


def test_an_answer_that_gets_lost_is_known_under_another_number_of_listings(
    on_aws: OnAws, on_aws_money: Money, boundary: Boundary
) -> None:
    (payment,) = ready(on_aws_money)
    more = DynamoLedger(
        payments_table=on_aws.names["payments"],
        accounts_table=on_aws.names["accounts"],
        journal_table=on_aws.names["journal"],
        client=on_aws.dynamodb,
        shards=PLAN,
        listing_shards=16,
    )
    stumbled = settlement.stumble(
        payment, now=on_aws_money.now, why="throttled", retry=RetryPolicy(), draw=0.5
    )
    boundary.fail(WRITE, *[lost] * SDK_TRIES)
    assert [posted.answer for posted in more.post([stumbled])] == [PostingAnswer.DONE]


def _taken(on_aws: OnAws, writes: Callable[[], Any]) -> list[float]:
    """The write units of each transaction."""
    units: list[float] = []

    def noted(parsed: dict[str, Any], **_: Any) -> None:
        units.append(sum(each["CapacityUnits"] for each in parsed["ConsumedCapacity"]))

    events = on_aws.dynamodb.meta.events
    events.register(f"provide-client-params.dynamodb.{WRITE}", _asks)
    events.register(f"after-call.dynamodb.{WRITE}", noted)
    try:
        writes()
    finally:
        events.unregister(f"provide-client-params.dynamodb.{WRITE}", _asks)
        events.unregister(f"after-call.dynamodb.{WRITE}", noted)
    return units


def _asks(params: dict[str, Any], **_: Any) -> dict[str, Any]:
    return {**params, "ReturnConsumedCapacity": "INDEXES"}
