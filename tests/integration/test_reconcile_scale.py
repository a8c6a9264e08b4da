"""Reconciliation of many accounts, each with ten movements: one wrong balance is found, and memory is bounded.

`ACCOUNTS=100000` in the environment takes so many accounts, and a million movements.
"""

import os
import time
import tracemalloc
from collections.abc import Iterator
from datetime import timedelta
from itertools import islice
from typing import Any, Final

import pytest

from functions.reconcile import handler as reconcile
from functions.reconcile.money import Collector
from postdate.domain.account import Account
from postdate.domain.movement import Movement, Type, movement_id, place_at
from postdate.stores import account_row, movement_row
from tests.integration import test_reconcile as nights
from tests.integration.stores import NOW
from tests.integration.world import World

world, s3, wired_late, archived = nights.world, nights.s3, nights.wired_late, nights.archived
ACCOUNTS: Final = int(os.environ.get("ACCOUNTS", "1000"))
MOVEMENTS: Final = 10
AMOUNT: Final = 7
_AT_ONCE: Final = 25
_WRONG: Final = "account-000500"
_TENANT: Final = "many"


def name_of(number: int) -> str:
    return f"account-{number:06d}"


def accounts() -> Iterator[dict[str, Any]]:
    for number in range(ACCOUNTS):
        available = MOVEMENTS * AMOUNT + (name_of(number) == _WRONG)
        account = Account(
            id=name_of(number), tenant=_TENANT, created_at=NOW, updated_at=NOW, available=available
        )
        yield account_row.attributes_of(account)


def journal() -> Iterator[dict[str, Any]]:
    for number in range(ACCOUNTS * MOVEMENTS):
        at = NOW + timedelta(milliseconds=number)
        id = movement_id(at, f"{number:020x}")
        movement = Movement(
            id=id,
            tenant=_TENANT,
            type=Type.DEPOSIT,
            payer=None,
            payee=name_of(number % ACCOUNTS),
            amount=AMOUNT,
            at=at,
            place=place_at(1_700_000_000_000 + number, id),
        )
        yield movement_row.attributes_of(movement, listing_shards=2)


def store(world: World, table: str, rows: Iterator[dict[str, Any]]) -> None:
    while some := list(islice(rows, _AT_ONCE)):
        puts = [{"PutRequest": {"Item": row}} for row in some]
        world.dynamodb.batch_write_item(RequestItems={world.tables[table]: puts})


def test_one_wrong_balance_among_many_is_found_in_bounded_memory(
    world: World,
    s3: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world.tenant(_TENANT)
    store(world, "accounts", accounts())
    store(world, "journal", journal())
    given = reconcile.wired()
    held = min(ACCOUNTS // 4, given.collector.accounts_max)
    monkeypatch.setattr(given, "collector", Collector(scans=given.collector.scans, accounts_max=held))
    _, parts = given.collector.plan(given.clock.now())
    assert len(parts) > ACCOUNTS // held
    began = time.monotonic()
    tracemalloc.start()
    try:
        found = nights.night(s3, name="many")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    with capsys.disabled():
        seconds = time.monotonic() - began
        print(
            f"\n{ACCOUNTS} accounts, {ACCOUNTS * MOVEMENTS} movements: {seconds:.0f} s, {peak / 1e6:.0f} MB"
        )
    assert [(each["check"], each["subject"]) for each in found.report["findings"]] == [
        ("journal_gives_balances", _WRONG)
    ]
    looked = found.report["looked_at"]
    assert (looked["rows_accounts"], looked["rows_journal"]) == (ACCOUNTS, ACCOUNTS * MOVEMENTS)
    assert looked["accounts"] == ACCOUNTS
    assert peak < 100e6
