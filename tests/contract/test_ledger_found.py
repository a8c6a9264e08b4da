"""What an account has to do with, and what is due of it."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from postdate.domain import money as steps
from postdate.domain.due import Due
from postdate.domain.errors import NotFound, Unreadable
from postdate.domain.item import Phase
from postdate.domain.movement import Movement
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import unique_part
from postdate.stores.ledger import Answer, Ledger
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.movement_row import attributes_of
from postdate.stores.timetable import Entry, Timetable
from tests.contract.conftest import OnAws
from tests.contract.examples import LISTING_SHARDS, PLAN
from tests.contract.money import MINUTE, Money


@pytest.fixture
def timetable(ledger: Ledger, request: pytest.FixtureRequest) -> Timetable:
    """Of what was written to `ledger`."""
    return ledger if isinstance(ledger, MemoryLedger) else request.getfixturevalue("on_aws").timetable


def walked(money: Money, account: str, *, limit: int) -> list[str]:
    found: list[str] = []
    for _ in range(30):
        page = money.ledger.payments_listed(
            money.tenant, account, after=found[-1] if found else "", limit=limit
        )
        assert len(page) <= limit
        found += page
    return found


def test_an_accounts_payments_are_listed_from_either_side_in_the_order_of_their_minutes(money: Money) -> None:
    money.accounts(alice=100, bob=100, carol=100)
    made = [
        money.registered(payer, payee, 1, due_at=money.now + place * MINUTE, listed_under=place % 2)
        for place, (payer, payee) in enumerate(
            [("alice", "bob"), ("bob", "alice"), ("carol", "bob"), ("alice", "carol"), ("alice", "bob")]
        )
    ]
    ids = [payment.id for payment in made]
    for limit in (1, 2, 20):
        assert walked(money, "alice", limit=limit) == [ids[0], ids[1], ids[3], ids[4]]
        assert walked(money, "bob", limit=limit) == [ids[0], ids[1], ids[2], ids[4]]
    assert money.ledger.payments_listed("other", "alice", after="", limit=5) == []
    assert money.ledger.payments_listed(money.tenant, "ali", after="", limit=5) == []


def test_the_journal_is_read_page_by_page_in_both_directions(money: Money) -> None:
    money.accounts(alice=100, bob=100)
    for place in range(6):
        payer, payee = ("alice", "bob") if place % 2 else ("bob", "alice")
        due_at = money.now + timedelta(minutes=place)
        payment = money.registered(payer, payee, place + 1, due_at=due_at)
        assert money.answers(steps.settle(payment, now=due_at)) == [Answer.DONE]
    whole = money.journal("alice")
    assert [movement.effect_on("alice") for movement in whole] == [100, 1, -2, 3, -4, 5, -6]
    pages: list[Movement] = []
    while page := money.ledger.movements(money.tenant, "alice", after=pages[-1].id if pages else "", limit=2):
        pages += page
    assert pages == whole


def test_payments_have_their_movements_by_key(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    settled, open = (money.registered("alice", "bob", amount) for amount in (10, 20))
    posting = money.settle(settled)
    assert money.answers(posting) == [Answer.DONE]
    assert money.ledger.movements_of([settled, open]) == [posting.movement]
    assert money.ledger.movements_of([open]) == []


def test_a_movement_has_its_key_under_any_number_of_listings(on_aws: OnAws, now: datetime) -> None:
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(alice=100, bob=0)
    settled = [money.settle(money.registered("alice", "bob", 10)) for _ in range(4)]
    assert money.answers(*settled) == [Answer.DONE] * 4
    more = DynamoLedger(
        payments_table=on_aws.names["payments"],
        accounts_table=on_aws.names["accounts"],
        journal_table=on_aws.names["journal"],
        client=on_aws.dynamodb,
        plan=PLAN,
        listing_shards=16,
    )
    found = more.movements_of(posting.after for posting in settled if posting.after)
    assert {movement.id for movement in found} == {
        posting.movement.id for posting in settled if posting.movement
    }


def test_a_movement_of_newer_code_is_left_out_or_told_and_ends_no_page(on_aws: OnAws, now: datetime) -> None:
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(alice=100, bob=0)
    settled = [money.settle(money.registered("alice", "bob", 10)) for _ in range(6)]
    assert money.answers(*settled) == [Answer.DONE] * 6
    whole = money.journal("bob")
    for place in (0, 2, 3):
        _written_by_newer_code(on_aws, whole[place])
    kept = [whole[place] for place in (1, 4, 5)]
    pages: list[Movement] = []
    while page := money.ledger.movements(money.tenant, "bob", after=pages[-1].id if pages else "", limit=2):
        pages += page
    assert pages == kept
    with pytest.raises(Unreadable):
        money.ledger.movements(money.tenant, "bob", after="", limit=2, whole=True)
    assert money.ledger.movements(money.tenant, "bob", after=whole[3].id, limit=2, whole=True) == kept[1:]
    with pytest.raises(Unreadable):
        money.ledger.movements_of(posting.after for posting in settled if posting.after)


def _written_by_newer_code(on_aws: OnAws, movement: Movement) -> None:
    """A type that this code does not know."""
    row = attributes_of(movement, listing_shards=LISTING_SHARDS)
    on_aws.dynamodb.put_item(TableName=on_aws.names["journal"], Item=row | {"type": {"S": "FEE"}})


def test_accounts_are_listed_by_their_names(money: Money) -> None:
    money.accounts(carol=0, alice=0, bob=0)
    assert money.ledger.accounts_listed(money.tenant, after="", limit=2) == ["alice", "bob"]
    assert money.ledger.accounts_listed(money.tenant, after="bob", limit=2) == ["carol"]
    assert money.ledger.accounts_listed("other", after="", limit=2) == []


def test_many_are_read_at_once_and_only_those_that_are_there(money: Money) -> None:
    money.accounts(alice=500, bob=0)
    payments = [money.registered("alice", "bob", 1) for _ in range(120)]
    ids = [payment.id for payment in payments]
    unwritten = money.payment("alice", "bob", 1).after
    assert unwritten is not None
    assert money.ledger.payments([*ids, unwritten.id, "task_1", ids[0]]) == dict(
        zip(ids, payments, strict=True)
    )
    assert money.ledger.payment(unwritten.id) is None
    with pytest.raises(NotFound):
        money.ledger.payment("pay_x")


def test_a_sweep_sees_payments_with_the_accounts_they_move_money_between(
    money: Money, timetable: Timetable
) -> None:
    money.accounts(alice=100, bob=0)
    payment = money.registered("alice", "bob", 1)
    (entry,) = (each for each in timetable.due_in(payment.home) if each.due.id == payment.id)
    assert entry == Entry.of(payment, "alice", "bob")
    assert (entry.phase, entry.accounts) == (Phase.WAITS, ("alice", "bob"))
    stumbled = steps.stumble(payment, now=money.now, why="throttled", retry=RetryPolicy(), draw=0.5)
    money.answers(stumbled)
    assert stumbled.after is not None
    assert timetable.entries([payment.id])[payment.id] == Entry.of(stumbled.after, "alice", "bob")
    assert stumbled.after.phase is Phase.RUNS
    parked = steps.stumble(
        stumbled.after, now=money.now + MINUTE, why="again", retry=RetryPolicy(max_attempts=1), draw=0.5
    )
    money.answers(parked)
    assert timetable.entries([payment.id])[payment.id].phase is Phase.RESTS


def test_a_payment_that_moves_to_another_minute_leaves_a_pointer_there(
    money: Money, timetable: Timetable
) -> None:
    money.accounts(alice=100, bob=0)
    payment = money.registered("alice", "bob", 1)
    moved = steps.edit(
        payment, now=money.now - MINUTE / 2, due_at=money.now + timedelta(hours=1), why="changed"
    )
    assert money.answers(moved) == [Answer.DONE]
    assert moved.after is not None
    slot = PLAN.slot(moved.after.due_at, unique_part(payment.id))
    found = [entry for entry in timetable.due_in(slot) if entry.due.id == payment.id]
    assert [(entry.due, entry.phase) for entry in found] == [(Due.of(moved.after), None)]
    assert money.answers(moved) in ([Answer.STALE], [Answer.DONE])


def test_a_new_payment_that_is_not_due_at_home_is_written_once_and_found_where_it_is_due(
    money: Money, timetable: Timetable
) -> None:
    money.accounts(alice=100, bob=0)
    home = money.payment("alice", "bob", 40)
    assert home.after is not None
    hour = timedelta(hours=1)
    late = replace(home.after, due_at=home.after.due_at + hour, planned_at=home.after.planned_at + hour)
    away = replace(home, after=late, points=True)
    assert money.answers(away) == [Answer.DONE]
    assert money.answers(home) == [Answer.STALE]
    assert money.ledger.payment(late.id) == late
    assert money.balances("alice") == [(60, 40)]
    slot = PLAN.slot(late.due_at, unique_part(late.id))
    found = [entry for entry in timetable.due_in(slot) if entry.due.id == late.id]
    assert [(entry.due, entry.phase) for entry in found] == [(Due.of(late), None)]
