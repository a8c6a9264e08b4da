"""Scans for the reconciliation: the rows are those that botocore's own parser shows, with all that their sums need."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from postdate.domain.account import Account
from postdate.domain.movement import Movement, Type, movement_id, payment_movement_id, place_at
from postdate.domain.reconciled_sums import Accounts
from postdate.stores import account_row, movement_row
from postdate.stores.ledger import PostingAnswer
from postdate.stores.scans import TABLES, Scans, added
from tests.boundary import Boundary
from tests.contract.conftest import OnAws
from tests.contract.money import Money

SEGMENTS = 2


@pytest.fixture
def scans(on_aws: OnAws) -> Scans:
    return Scans(client=on_aws.dynamodb, tables={name: on_aws.names[name] for name in TABLES})


def rows(scans: Scans, table: str) -> Iterator[dict[str, Any]]:
    for segment in range(SEGMENTS):
        for page in scans.pages(table, segment=segment, segments=SEGMENTS, after=None):
            yield from page.rows


def by_text(found: Iterator[dict[str, Any]]) -> list[str]:
    return sorted(str(sorted(row.items())) for row in found)


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_those_that_the_parser_shows(scans: Scans, on_aws: OnAws, now: datetime, table: str) -> None:
    money = Money(ledger=on_aws.ledger, now=now)
    money.accounts(scanned=100, other=0)
    money.registered("scanned", "other", 5)
    done = money.answers(money.settle(money.registered("scanned", "other", 30)))
    assert done == [PostingAnswer.DONE]
    names = {f"#{name}": name for row in rows(scans, table) for name in row}
    asked = {"ProjectionExpression": ", ".join(names), "ExpressionAttributeNames": names}
    pages = on_aws.dynamodb.get_paginator("scan").paginate(TableName=on_aws.names[table], **asked)
    assert by_text(rows(scans, table)) == by_text(row for page in pages for row in page["Items"])


def test_a_page_tells_where_the_next_one_begins(
    scans: Scans, on_aws: OnAws, boundary: Boundary, now: datetime
) -> None:
    """Rows of more than one megabyte."""
    tenant = "scanned-by-pages"
    for number in range(4):
        id = movement_id(now, f"{number:020x}")
        row = movement_row.attributes_of(
            Movement(
                id=id,
                tenant=tenant,
                type=Type.ADJUSTMENT,
                payer=None,
                payee="a",
                amount=1,
                at=now,
                place=place_at(number, id),
                reason="x" * 350_000,
            ),
            listing_shards=1,
        )
        on_aws.dynamodb.put_item(TableName=on_aws.names["journal"], Item=row)
    boundary.clear()
    found = [row for row in rows(scans, "journal") if row["tenant"]["S"] == tenant]
    assert len({row["id"]["S"] for row in found}) == len(found) == 4
    assert len(boundary.asked("Scan")) > SEGMENTS


def test_other_scans_of_the_client_are_parsed_as_ever(scans: Scans, on_aws: OnAws) -> None:
    """A binary attribute is bytes."""
    table = on_aws.names["switches"]
    on_aws.dynamodb.put_item(TableName=table, Item={"name": {"S": "bytes"}, "held": {"B": b"\x00\xff"}})
    try:
        found = on_aws.dynamodb.scan(TableName=table)["Items"]
        assert {"name": {"S": "bytes"}, "held": {"B": b"\x00\xff"}} in found
    finally:
        on_aws.dynamodb.delete_item(TableName=table, Key={"name": {"S": "bytes"}})


def test_a_refusal_is_told(on_aws: OnAws) -> None:
    missing = Scans(client=on_aws.dynamodb, tables=dict.fromkeys(TABLES, "postdate-test-no-table"))
    with pytest.raises(on_aws.dynamodb.exceptions.ResourceNotFoundException):
        next(missing.pages("journal", segment=0, segments=1, after=None))


def test_the_sums_of_rows(now: datetime) -> None:
    """A deposit of 100, a payment of 30 that a movement belongs to, and one that names no payment."""
    accounts, paid = Accounts(), "pay_" + "0w8qk4r0" + "0" * 16
    given: dict[str, Any] = {"tenant": "acme", "at": now, "amount": 30, "payer": "a", "payee": "b"}
    deposit = Movement(
        id="txn_1", tenant="acme", type=Type.DEPOSIT, payer=None, payee="a", amount=100, at=now
    )
    payment = Movement(id=payment_movement_id(paid), type=Type.PAYMENT, payment_id=paid, **given)
    unsound = Movement(id="txn_2", type=Type.PAYMENT, **given)
    movements = [movement_row.attributes_of(each, listing_shards=2) for each in (deposit, payment, unsound)]
    added(accounts, "journal", movements, at=now)
    opened = Account(id="a", tenant="acme", created_at=now, updated_at=now, available=40, reserved=5)
    added(accounts, "accounts", [account_row.attributes_of(opened)], at=now)
    status = {"id": paid, "tenant": "acme", "payer": "a", "payee": "b", "status": "COMPLETED"}
    row = {name: {"S": text} for name, text in status.items()} | {"amount": {"N": "30"}}
    held = row | {"status": {"S": "PENDING"}, "amount": {"N": "5"}}
    added(accounts, "payments", [row, held, {"points_to": {"S": "elsewhere"}}], at=now)
    sums = accounts.of("acme", "a")
    assert (sums.is_there, sums.available, sums.reserved) == (True, 40, 5)
    assert (sums.moved, sums.held, sums.unsound) == (40, 5, 1)
    assert sums.completed == sums.paid != 0
    assert accounts.of("acme", "b").moved == 60
    # More than a year later the archive may have the payment, so it is compared with nothing.
    later = Accounts()
    added(later, "payments", [row], at=now + timedelta(days=900))
    added(later, "journal", [movements[1]], at=now + timedelta(days=900))
    assert (later.of("acme", "a").completed, later.of("acme", "a").paid) == (0, 0)
