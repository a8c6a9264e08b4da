"""Reconciliation of many accounts, each with ten movements: one wrong balance is found, and memory is bounded.

`ACCOUNTS=100000` in the environment takes so many accounts, and a million movements. Memory is traced, which slows the
scan down; of more than 10,000 accounts the growth of the process is measured instead.
"""

import os
import resource
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Event, Thread
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
_WRITERS: Final = 4
_TRACED_MAX: Final = 10_000
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
    batches = iter(lambda: [{"PutRequest": {"Item": row}} for row in islice(rows, _AT_ONCE)], [])
    with ThreadPoolExecutor(_WRITERS) as writers:
        # A few batches at a time: all of them at once would be more than the scan may hold.
        while some := list(islice(batches, 8 * _WRITERS)):
            list(writers.map(partial(_put, world, world.tables[table]), some))


def _put(world: World, table: str, puts: list[Any]) -> None:
    answer = world.dynamodb.batch_write_item(RequestItems={table: puts})
    assert not answer.get("UnprocessedItems")


@contextmanager
def growing() -> Iterator[Callable[[], float]]:
    """Yields the most bytes that were held at once since the beginning."""
    if ACCOUNTS <= _TRACED_MAX:
        tracemalloc.start()
        try:
            yield lambda: float(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
        return
    before = peak = _resident()
    over = Event()

    def watch() -> None:
        nonlocal peak
        while not over.wait(0.2):
            peak = max(peak, _resident())

    watching = Thread(target=watch)
    watching.start()
    try:
        yield lambda: float(peak - before)
    finally:
        over.set()
        watching.join()


def _resident() -> int:
    """The bytes of this process that are in memory, as Linux tells them."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


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
    with growing() as most:
        found = nights.night(s3, name="many")
        peak = most()
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
