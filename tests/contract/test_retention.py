"""The rows of a slot, the instants of their removal and the place of the walk, over both stores."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from postdate.domain import money as decisions
from postdate.domain.payment import Payment
from postdate.domain.slots import Slot
from postdate.stores import archived_payments
from postdate.stores.ledger import PostingAnswer
from postdate.stores.ledger_memory import MemoryLedger
from postdate.stores.payment_row import payment_in
from postdate.stores.slot_payments import DynamoSlotPayments, MemorySlotPayments, SlotPayments, is_leaving
from postdate.stores.walks import DynamoWalks, MemoryWalks, Walks
from tests.contract.conftest import OnAws
from tests.contract.examples import LISTING_SHARDS, PLAN
from tests.contract.money import Money

DAY = timedelta(days=1)
LEAVES = datetime(2028, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    money: Money
    payments: SlotPayments


@pytest.fixture(params=["memory", "aws"])
def stored(request: pytest.FixtureRequest, now: datetime) -> Stored:
    if request.param == "memory":
        ledger = MemoryLedger(shards=PLAN)
        return Stored(money=Money(ledger=ledger, now=now), payments=MemorySlotPayments(ledger=ledger))
    found: OnAws = request.getfixturevalue("on_aws")
    return Stored(money=Money(ledger=found.ledger, now=now), payments=on(found))


def on(found: OnAws, *, listing_shards: int = LISTING_SHARDS) -> DynamoSlotPayments:
    return DynamoSlotPayments(
        payments_table=found.names["payments"],
        journal_table=found.names["journal"],
        client=found.dynamodb,
        listing_shards=listing_shards,
    )


@pytest.fixture(params=["memory", "aws"])
def walks(request: pytest.FixtureRequest) -> Walks:
    if request.param == "memory":
        return MemoryWalks()
    found: OnAws = request.getfixturevalue("on_aws")
    table = found.names["slots"]
    for row in found.dynamodb.scan(TableName=table)["Items"]:
        if row["scope"]["S"] == "retention":
            found.dynamodb.delete_item(TableName=table, Key={name: row[name] for name in ("scope", "name")})
    return DynamoWalks(table=table, client=found.dynamodb)


def completed(money: Money, **fields: Any) -> Payment:
    payment = money.registered("payer", "payee", 5, **fields)
    settled = money.settle(payment)
    assert money.answers(settled) == [PostingAnswer.DONE]
    assert settled.after is not None
    return settled.after


def row_of(stored: Stored, payment: Payment) -> dict[str, Any]:
    (row,) = (row for row in stored.payments.rows(payment.home) if row["id"]["S"] == payment.id)
    return row


def test_the_rows_of_a_slot_are_whole_and_pointers_are_none_of_them(stored: Stored) -> None:
    stored.money.accounts(payer=100, payee=0)
    payment = completed(stored.money, description="rent", metadata=(("a", "b"),))
    assert payment_in(row_of(stored, payment)) == payment
    moved = stored.money.registered("payer", "payee", 5)
    later = decisions.edit(moved, now=stored.money.now, due_at=stored.money.now + DAY, amount=None, why="x")
    assert stored.money.answers(later) == [PostingAnswer.DONE]
    assert later.after is not None
    slots = {moved.home, *(Slot(minute=moved.home.minute + 24 * 60, shard=shard) for shard in range(4))}
    found = [row["id"]["S"] for slot in slots for row in stored.payments.rows(slot)]
    assert sorted(set(found) - {payment.id}) == [moved.id]


def test_a_removal_is_set_while_the_version_is_the_same_and_changes_nothing_else(stored: Stored) -> None:
    stored.money.accounts(payer=100, payee=0)
    payment = completed(stored.money)
    row = row_of(stored, payment)
    assert not is_leaving(row)
    assert not stored.payments.remove_at(row | {"version": {"N": "1"}}, LEAVES)
    assert stored.payments.remove_at(row, LEAVES)
    assert stored.payments.remove_at(row, LEAVES)
    assert row_of(stored, payment) == row | {"expires_at": {"N": str(int(LEAVES.timestamp()))}}
    assert stored.money.ledger.payment(payment.id) == payment


def test_a_row_that_is_gone_is_not_made_again(stored: Stored) -> None:
    stored.money.accounts(payer=100, payee=0)
    payment = completed(stored.money)
    row = row_of(stored, payment)
    other = row | {"id": {"S": payment.id[:-1] + ("0" if payment.id[-1] != "0" else "1")}}
    assert not stored.payments.remove_at(other, LEAVES)
    assert row_of(stored, payment) == row


def test_the_journal_tells_which_payments_have_moved(stored: Stored) -> None:
    stored.money.accounts(payer=100, payee=0)
    payments = [
        completed(stored.money),
        stored.money.registered("payer", "payee", 5),
        completed(stored.money),
    ]
    assert stored.payments.moved(payments) == {payments[0].id, payments[2].id}
    assert stored.payments.moved([]) == set()


def test_a_movement_is_found_under_another_number_of_listings(on_aws: OnAws, now: datetime) -> None:
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(payer=100, payee=0)
    payments = [completed(money) for _ in range(8)]
    found = on(on_aws, listing_shards=LISTING_SHARDS + 3).moved(payments)
    assert found == {each.id for each in payments}


def test_a_line_gives_back_the_row_and_keeps_what_newer_code_added(stored: Stored) -> None:
    stored.money.accounts(payer=100, payee=0)
    payment = completed(stored.money, description="rent", metadata=(("a", "b"),))
    row = row_of(stored, payment) | {"hue": {"S": "blue"}, "parts": {"L": [{"S": "x"}]}, "depth": {"N": "3"}}
    line = archived_payments.line_of(row, owner="o", seal=lambda text: f"<{text[::-1]}>")
    assert b"rent" not in line.replace(b"tner", b"")
    again = archived_payments.row_of(line, tenant=payment.tenant, open=lambda text: text[1:-1][::-1])
    assert again == {name: row[name] for name in again}
    assert {"hue", "parts", "depth", "tenant"} <= again.keys()
    assert payment_in(again) == payment
    other = archived_payments.line_of(row | {"error": {"S": "late"}}, owner="o", seal=lambda text: text)
    content = archived_payments.packed([line])
    assert archived_payments.by_id(content) == {payment.id: line}
    assert content == archived_payments.packed([line]) != archived_payments.packed([other])


def test_the_place_of_the_walk_never_goes_back(walks: Walks) -> None:
    assert walks.walked() is None
    for place, expected in ((7, 7), (5, 7), (8, 8)):
        walks.walk_to(place)
        assert walks.walked() == expected


def test_notes_are_read_by_their_days_until_they_are_forgotten(walks: Walks) -> None:
    day = date(2026, 11, 18)
    slots = [Slot(minute=29_000_000 + number, shard=number) for number in range(3)]
    for number, slot in enumerate(slots):
        walks.look_again(slot, day + number * DAY)
        walks.look_again(slot, day + number * DAY)
    assert walks.again(day - DAY, limit=10) == []
    assert walks.again(day + DAY, limit=10) == [(day, slots[0]), (day + DAY, slots[1])]
    assert walks.again(day + DAY, limit=1) == [(day, slots[0])]
    walks.forget(slots[0], day)
    walks.forget(slots[0], day)
    assert walks.again(day + DAY, limit=10) == [(day + DAY, slots[1])]
    walks.walk_to(3)
    assert walks.walked() == 3
