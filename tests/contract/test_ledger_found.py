"""Lists of an account's payments and of its due payments."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from postdate.domain import money as steps
from postdate.domain import settlement
from postdate.domain.due import Due
from postdate.domain.errors import NotFound, Unreadable
from postdate.domain.item import Phase
from postdate.domain.movement import Movement
from postdate.domain.payment import State
from postdate.domain.posting import Posting
from postdate.domain.retry import RetryPolicy
from postdate.domain.slots import unique_part
from postdate.stores.ledger import Ledger, ListedPayment, PaymentsWanted, PostingAnswer
from postdate.stores.ledger_dynamo import DynamoLedger
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.movement_row import attributes_of
from postdate.stores.timetable import Timetable, TimetableEntry
from tests.boundary import Boundary, lost
from tests.contract.conftest import OnAws
from tests.contract.examples import LISTING_SHARDS, PLAN
from tests.contract.money import MINUTE, Money

MILLISECOND: Final = timedelta(milliseconds=1)


@pytest.fixture
def timetable(ledger: Ledger, request: pytest.FixtureRequest) -> Timetable:
    """The timetable of the rows in `ledger`."""
    return ledger if isinstance(ledger, MemoryLedger) else request.getfixturevalue("on_aws").timetable


def done(money: Money, *postings: Posting | None) -> None:
    made = [posting for posting in postings if posting is not None]
    assert money.answers(*made) == [PostingAnswer.DONE] * len(made)


def walked(money: Money, limit: int, **asked: Any) -> list[str]:
    found: list[ListedPayment] = []
    for _ in range(40):
        page = money.ledger.payments_listed(
            PaymentsWanted(tenant=money.tenant, **asked), after=found[-1].place if found else "", limit=limit
        )
        assert len(page) <= limit
        found += page
        if len(page) < limit:
            break
    return [each.id for each in found]


def test_an_accounts_payments_are_listed_from_either_side_in_the_order_of_their_instants(
    money: Money,
) -> None:
    money.accounts(alice=100, bob=100, carol=100)
    made = [
        money.registered(payer, payee, 1, due_at=money.now + place * MINUTE, listed_under=place % 2)
        for place, (payer, payee) in enumerate(
            [("alice", "bob"), ("bob", "alice"), ("carol", "bob"), ("alice", "carol"), ("alice", "bob")]
        )
    ]
    ids = [payment.id for payment in made]
    for limit in (1, 2, 20):
        assert walked(money, limit, account="alice") == [ids[0], ids[1], ids[3], ids[4]]
        assert walked(money, limit, account="bob") == [ids[0], ids[1], ids[2], ids[4]]
        assert walked(money, limit) == ids
        assert walked(money, limit, newest_first=True) == ids[::-1]
    assert walked(money, 5, account="ali") == []
    assert money.ledger.payments_listed(PaymentsWanted(tenant="other"), after="", limit=5) == []


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("account", [None, "alice"])
@pytest.mark.parametrize("state", [None, State.CANCELLED])
def test_a_list_of_any_kind_is_cut_by_instants(
    money: Money, newest_first: bool, account: str | None, state: State | None
) -> None:
    """The first instant is in it and the last one is not, to the millisecond."""
    money.accounts(alice=100, bob=100)
    made = [
        money.registered("alice", "bob", 1, due_at=money.now + place * MILLISECOND, listed_under=place % 2)
        for place in range(6)
    ]
    done(money, *(steps.cancel(payment, now=money.now) for payment in made))
    asked = {"account": account, "state": state, "newest_first": newest_first}
    for first, last in ((0, 6), (1, 4), (2, 2), (4, 1), (5, 9)):
        span = {"since": money.now + first * MILLISECOND, "until": money.now + last * MILLISECOND}
        wanted = [payment.id for payment in made[first:last]]
        for limit in (1, 2, 20):
            assert walked(money, limit, **asked, **span) == (wanted[::-1] if newest_first else wanted)


def test_payments_in_states_that_need_attention_are_listed_by_state(money: Money) -> None:
    money.accounts(alice=100, bob=100)
    waits, settled, failed, cancelled, stuck = (
        money.registered("alice", "bob", 1, due_at=money.now + place * MINUTE) for place in range(5)
    )
    retry = RetryPolicy(max_attempts=3, initial_seconds=10, jitter=False)
    stumbled = settlement.stumble(stuck, now=money.now, why="no", retry=retry, draw=0.5)
    done(
        money,
        money.settle(settled),
        settlement.fail(failed, now=money.now, code="insufficient_funds", why="no"),
        steps.cancel(cancelled, now=money.now),
        stumbled,
    )
    for state, one in ((State.FAILED, failed), (State.CANCELLED, cancelled), (State.EXECUTING, stuck)):
        for account in (None, "alice", "bob"):
            assert walked(money, 2, state=state, account=account) == [one.id]
    assert waits.id in walked(money, 2, state=State.PENDING)
    assert stumbled.after is not None
    done(money, money.settle(stumbled.after))
    assert walked(money, 2, state=State.EXECUTING) == []


def test_a_payment_that_gets_another_instant_changes_its_place_and_its_payers_version(money: Money) -> None:
    """A reader of the list may miss the payment meanwhile, and sees the change by the version."""
    money.accounts(alice=100, bob=100)
    first, second = (
        money.registered("alice", "bob", 1, due_at=money.now + place * MINUTE) for place in (5, 10)
    )
    before = money.ledger.account(money.tenant, "alice")
    done(money, steps.edit(first, now=money.now, due_at=money.now + 20 * MINUTE, why="changed"))
    after = money.ledger.account(money.tenant, "alice")
    assert before is not None
    assert after is not None
    assert after.version == before.version + 1
    assert (after.available, after.reserved) == (before.available, before.reserved)
    for account in (None, "alice", "bob"):
        assert walked(money, 1, account=account) == [second.id, first.id]


def test_a_page_takes_a_query_for_each_key_of_its_list_whatever_is_stored(
    on_aws: OnAws, boundary: Boundary, now: datetime
) -> None:
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(alice=1000, bob=0, carol=0)
    for place in range(30):
        payee = ("bob", "carol")[place % 2]
        money.registered("alice", payee, 1, due_at=now + place * MINUTE)
    for asked, queries in (
        ({}, LISTING_SHARDS),
        ({"account": "alice"}, 2 * LISTING_SHARDS),
        ({"state": State.FAILED}, LISTING_SHARDS),
        ({"state": State.FAILED, "account": "alice"}, LISTING_SHARDS),
    ):
        boundary.clear()
        wanted = PaymentsWanted(tenant=money.tenant, **asked)  # type: ignore[arg-type]
        assert len(on_aws.ledger.payments_listed(wanted, after="", limit=5)) in (0, 5)
        made = [call.asked for call in boundary.calls]
        assert len(made) == queries
        assert {each["Limit"] for each in made} == {5}


def test_the_journal_is_read_page_by_page_in_both_directions(money: Money) -> None:
    money.accounts(alice=100, bob=100)
    for place in range(6):
        payer, payee = ("alice", "bob") if place % 2 else ("bob", "alice")
        due_at = money.now + timedelta(minutes=place)
        payment = money.registered(payer, payee, place + 1, due_at=due_at)
        assert money.answers(settlement.settle(payment, now=due_at)) == [PostingAnswer.DONE]
    whole = money.journal("alice")
    assert [movement.effect_on("alice") for movement in whole] == [100, 1, -2, 3, -4, 5, -6]
    pages: list[Movement] = []
    while page := money.ledger.movements(
        money.tenant, "alice", after=pages[-1].place if pages else "", limit=2
    ):
        pages += page
    assert pages == whole


def test_payments_have_their_movements_by_key(money: Money) -> None:
    money.accounts(alice=100, bob=0)
    settled, open = (money.registered("alice", "bob", amount) for amount in (10, 20))
    posting = money.settle(settled)
    assert money.answers(posting) == [PostingAnswer.DONE]
    assert money.ledger.movements_of([settled, open]) == [posting.movement]
    assert money.ledger.movements_of([open]) == []


def test_the_journal_is_in_the_order_in_which_it_was_written(money: Money) -> None:
    """The order of writing counts, not the minutes that the payments were registered for."""
    money.accounts(alice=100, bob=0)
    later, sooner = (
        money.registered("alice", "bob", 1, due_at=money.now + place * MINUTE) for place in (9, 1)
    )
    done(money, settlement.settle(later, now=money.now + 10 * MINUTE))
    done(money, settlement.settle(sooner, now=money.now + 11 * MINUTE))
    for name in ("alice", "bob"):
        found = [each.payment_id for each in money.journal(name)]
        assert found[-2:] == [later.id, sooner.id]
    assert money.journal("bob")[0].written_at == money.now + 10 * MINUTE


@pytest.mark.parametrize("reader", ["alice", "bob"])
def test_nothing_is_written_before_a_place_that_was_shown(money: Money, reader: str) -> None:
    """Two workers decide; one is paused, and the other one's payment is shown. Then the first one commits."""
    money.accounts(alice=100, bob=0)
    payments = [money.registered("alice", "bob", 1) for _ in range(3)]
    paused, quick, beside = (
        settlement.settle(payment, now=money.now + second * timedelta(seconds=1))
        for payment, second in zip(payments, (0, 5, 1), strict=True)
    )
    done(money, quick)
    shown = money.journal(reader)
    assert shown[-1].payment_id == payments[1].id
    money.ledger.close_journal(money.tenant, reader, shown[-1].place)
    done(money, paused, beside)
    later = money.ledger.movements(money.tenant, reader, after=shown[-1].place, limit=10)
    assert {each.payment_id for each in later} == {payments[0].id, payments[2].id}
    assert money.journal(reader)[: len(shown)] == shown


def test_a_journal_that_was_read_is_no_change_of_its_account(money: Money) -> None:
    money.accounts(alice=100)
    before = money.ledger.account(money.tenant, "alice")
    (deposit,) = money.journal("alice")
    money.ledger.close_journal(money.tenant, "alice", deposit.place)
    money.ledger.close_journal(money.tenant, "alice", deposit.place[:-1])
    after = money.ledger.account(money.tenant, "alice")
    assert after == before
    assert after is not None
    assert after.journal_read_to == deposit.place


def test_a_settlement_whose_answer_was_lost_before_somebody_read_the_journal_is_found(
    on_aws: OnAws, boundary: Boundary, now: datetime
) -> None:
    """The settlement keeps the place in the journal of its first write."""
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(alice=100, bob=0)
    posting = money.settle(money.registered("alice", "bob", 10))
    boundary.fail("TransactWriteItems", lost, lost)
    done(money, posting)
    (moved,) = money.journal("bob")
    money.ledger.close_journal(money.tenant, "bob", moved.place)
    assert money.answers(posting) == [PostingAnswer.DONE]
    assert money.journal("bob") == [moved]


def test_a_movement_is_found_by_its_own_key(money: Money) -> None:
    money.accounts(alice=0)
    posting = money.deposit("alice", 5)
    assert posting.movement is not None
    assert not money.ledger.has(posting.movement)
    done(money, posting)
    assert money.ledger.has(posting.movement)


def test_a_movement_has_its_key_under_any_number_of_listings(on_aws: OnAws, now: datetime) -> None:
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(alice=100, bob=0)
    settled = [money.settle(money.registered("alice", "bob", 10)) for _ in range(4)]
    assert money.answers(*settled) == [PostingAnswer.DONE] * 4
    more = DynamoLedger(
        payments_table=on_aws.names["payments"],
        accounts_table=on_aws.names["accounts"],
        journal_table=on_aws.names["journal"],
        client=on_aws.dynamodb,
        shards=PLAN,
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
    assert money.answers(*settled) == [PostingAnswer.DONE] * 6
    whole = money.journal("bob")
    for place in (0, 2, 3):
        _written_by_newer_code(on_aws, whole[place])
    kept = [whole[place] for place in (1, 4, 5)]
    pages: list[Movement] = []
    while page := money.ledger.movements(
        money.tenant, "bob", after=pages[-1].place if pages else "", limit=2
    ):
        pages += page
    assert pages == kept
    with pytest.raises(Unreadable):
        money.ledger.movements(money.tenant, "bob", after="", limit=2, whole=True)
    assert money.ledger.movements(money.tenant, "bob", after=whole[3].place, limit=2, whole=True) == kept[1:]
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
    assert entry == TimetableEntry.of(payment, "alice", "bob")
    assert (entry.phase, entry.accounts) == (Phase.WAITS, ("alice", "bob"))
    stumbled = settlement.stumble(payment, now=money.now, why="throttled", retry=RetryPolicy(), draw=0.5)
    money.answers(stumbled)
    assert stumbled.after is not None
    assert timetable.entries([payment.id])[payment.id] == TimetableEntry.of(stumbled.after, "alice", "bob")
    assert stumbled.after.phase is Phase.RUNS
    parked = settlement.stumble(
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
    assert money.answers(moved) == [PostingAnswer.DONE]
    assert moved.after is not None
    slot = PLAN.slot(moved.after.due_at, unique_part(payment.id))
    found = [entry for entry in timetable.due_in(slot) if entry.due.id == payment.id]
    assert [(entry.due, entry.phase) for entry in found] == [(Due.of(moved.after), None)]
    assert money.answers(moved) in ([PostingAnswer.STALE], [PostingAnswer.DONE])


def test_a_new_payment_that_is_not_due_at_home_is_written_once_and_found_where_it_is_due(
    money: Money, timetable: Timetable
) -> None:
    money.accounts(alice=100, bob=0)
    home = money.payment("alice", "bob", 40)
    assert home.after is not None
    hour = timedelta(hours=1)
    late = replace(home.after, due_at=home.after.due_at + hour, planned_at=home.after.planned_at + hour)
    away = replace(home, after=late, points=True)
    assert money.answers(away) == [PostingAnswer.DONE]
    assert money.answers(home) == [PostingAnswer.STALE]
    assert money.ledger.payment(late.id) == late
    assert money.balances("alice") == [(60, 40)]
    slot = PLAN.slot(late.due_at, unique_part(late.id))
    found = [entry for entry in timetable.due_in(slot) if entry.due.id == late.id]
    assert [(entry.due, entry.phase) for entry in found] == [(Due.of(late), None)]
