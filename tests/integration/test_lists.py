"""Lists of many payments: a page costs what it shows, and a walk misses nothing that was there all along."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from bench import listed
from postdate.domain import instants
from postdate.domain.payment import Payment, State
from postdate.domain.sweeping import Stage, SweepProgress, Watermark
from postdate.stores.passes_dynamo import DynamoPasses
from tests.boundary import Boundary
from tests.contract.examples import PLAN
from tests.integration.conftest import SETTINGS, entered, forget
from tests.integration.meter import READS
from tests.integration.money import calls
from tests.integration.world import Client, World

PAYMENTS: Final = "/api/v1/payments"
LISTING_SHARDS: Final = int(SETTINGS["LISTING_SHARDS"])
MINUTE: Final = timedelta(minutes=1)
# Behind all that is stored.
FAR_SECONDS: Final = 2 * int(listed.SPAN.total_seconds())


@pytest.fixture
def world(own_world: World, boundary: Boundary, monkeypatch: pytest.MonkeyPatch) -> World:
    return entered(own_world, monkeypatch)


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """Payments of a tenant, written as rows; `requests` are those of its last page."""

    world: World
    client: Client
    boundary: Boundary
    now: datetime
    made: dict[str, Payment] = field(default_factory=dict)

    def grow(self, count: int, accounts: int) -> None:
        found = list(listed.payments(self.client.tenant, count, accounts, shards=PLAN, now=self.now))
        table = self.world.tables["payments"]
        listed.write(self.world.dynamodb, table, found, listing_shards=LISTING_SHARDS)
        self.made.update({payment.id: payment for payment in found})

    def page(self, query: str) -> tuple[list[str], str | None, Mapping[str, int]]:
        """The ids, the cursor and the requests, with the rows that were read by their keys."""
        self.boundary.calls.clear()
        answer = self.client.get(PAYMENTS, query)
        assert answer.status == 200
        asked = Counter[str]()
        for call in self.boundary.calls:
            asked[call.operation] += 1
            if call.operation == "BatchGetItem":
                (keys,) = call.asked["RequestItems"].values()
                asked["rows"] += len(keys["Keys"])
            if call.operation == "Query" and "IndexName" in call.asked:
                asked["entries"] += call.asked["Limit"]
        return [each["payment_id"] for each in answer.body["payments"]], answer.body["next_cursor"], asked

    def units(self, query: str) -> float:
        """The read units that a page takes of the payments' table and its indexes."""
        with READS.counting():
            self.page(query)
        return READS.units[self.world.tables["payments"]]

    def walked(self, query: str) -> Iterator[list[str]]:
        cursor: str | None = ""
        while cursor is not None:
            ids, cursor, _ = self.page(f"{query}&cursor={cursor}" if cursor else query)
            yield ids

    def in_order(self, wanted: Any) -> list[str]:
        found = [payment for payment in self.made.values() if wanted(payment)]
        return [each.id for each in sorted(found, key=lambda payment: (payment.planned_at, payment.id))]


@pytest.fixture
def stored(world: World, client: Client, boundary: Boundary) -> Stored:
    now = instants.from_milliseconds(instants.milliseconds(datetime.now(UTC)))
    return Stored(world=world, client=client, boundary=boundary, now=now)


def swept(world: World, now: datetime, *, left: int | None = None) -> None:
    """The notes of a sweep that closed all minutes; in the minute `left` items still waited. No copy of the function
    knows earlier notes."""
    forget()
    passes = DynamoPasses(table=world.tables["slots"])
    first = instants.minute_of(now) - 150
    passes.raise_watermark(Watermark(minute=first - 1))
    for minute in range(first, instants.minute_of(now) + 1):
        passes.record(
            SweepProgress(
                minute=minute,
                group=0,
                stage=Stage.CLOSE if minute == left or minute > first + 89 else Stage.AUDIT,
                opened_at=instants.start_of(minute),
                waiting=int(minute == left),
            )
        )


def asking(stored: Stored) -> dict[str, str]:
    since, until = (f"{stored.now + days * timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}" for days in (-9, 9))
    return {
        "by state": "status=FAILED&limit=20",
        "between instants, newest first": f"from={since}&until={until}&order=desc&limit=20",
        "all": "limit=20",
        "waiting": "status=PENDING&limit=20",
    }


def test_a_page_costs_the_same_whatever_is_stored_and_over_however_many_accounts(
    stored: Stored, world: World
) -> None:
    """Half a unit for 20 entries of an index, and a unit for each row that is shown."""
    swept(world, stored.now)
    stored.page("status=PENDING")  # The sweep's notes are read now, and then kept for half a minute.
    stored.grow(1000, 10)
    asked = asking(stored)
    few = {name: stored.page(query) for name, query in asked.items()}
    stored.grow(1500, 500)
    for name, query in asked.items():
        ids, cursor, requests = stored.page(query)
        assert (len(ids), cursor is None) == (20, False), name
        assert requests == few[name][2], name
        assert requests == {
            "Query": LISTING_SHARDS,
            "entries": 21 * LISTING_SHARDS,
            "BatchGetItem": 1,
            "rows": 21,
        }, name


def test_a_page_takes_the_same_read_units_of_many_payments_as_of_few(stored: Stored, world: World) -> None:
    """Units are true on DynamoDB Local. `tests/integration/pages.py` walks a hundred thousand payments there."""
    swept(world, stored.now)
    stored.page("status=PENDING")
    stored.grow(1000, 500)
    asked = asking(stored)
    few = {name: stored.units(query) for name, query in asked.items()}
    stored.grow(3000, 500)
    assert {name: stored.units(query) for name, query in asked.items()} == few
    assert all(units > 0 for units in few.values())


def test_a_list_of_what_waits_costs_two_reads_more_once_in_half_a_minute(
    stored: Stored, world: World
) -> None:
    swept(world, stored.now)
    stored.grow(100, 10)
    _, _, first = stored.page("status=PENDING&limit=20")
    assert (first["GetItem"], first["Query"]) == (1, LISTING_SHARDS + 1)
    _, _, second = stored.page("status=PENDING&limit=20")
    assert (second["GetItem"], second["Query"]) == (0, LISTING_SHARDS)


def test_what_is_two_hours_overdue_is_in_the_plain_list_of_what_waits(
    stored: Stored, world: World, client: Client
) -> None:
    overdue = stored.now - 120 * MINUTE
    swept(world, stored.now, left=instants.minute_of(overdue))
    stored.grow(200, 10)
    (late,) = listed.payments(client.tenant, 1, 2, shards=PLAN, now=overdue)
    assert (late.planned_at, late.state) == (overdue, State.PENDING)
    table = world.tables["payments"]
    listed.write(world.dynamodb, table, [late], listing_shards=LISTING_SHARDS)
    coming = stored.in_order(lambda payment: payment.state is State.PENDING)
    assert [id for ids in stored.walked("status=PENDING&limit=40") for id in ids] == [late.id, *coming]


def test_a_walk_shows_each_payment_once_while_others_are_registered_settled_and_cancelled(
    stored: Stored, world: World, client: Client
) -> None:
    stored.grow(600, 50)
    client.accounts(alice=1000, bob=0)
    seen, registered = Counter[str](), list[str]()
    for number, ids in enumerate(stored.walked("limit=50")):
        seen.update(ids)
        answer = client.pay(key=f"walk-{number}", amount=1, delay_seconds=1 if number < 3 else FAR_SECONDS)
        assert answer.status == 201
        registered.append(answer.body["payment_id"])
        last = stored.in_order(lambda payment: payment.state is State.PENDING)[-1 - number]
        assert client.call("DELETE", f"{PAYMENTS}/{last}/cancel").status == 200
        if number == 4:
            time.sleep(1)
            assert world.settle(calls(world, client)) == []
    assert [id for id in stored.made if seen[id] != 1] == []
    assert {id: times for id, times in seen.items() if times != 1} == {}
    assert set(registered[3:-1]) <= set(seen)


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_a_walk_by_state_or_between_instants_shows_what_fits_in_order(stored: Stored, order: str) -> None:
    stored.grow(400, 50)
    first, last = stored.now - timedelta(days=9), stored.now + timedelta(days=9)
    for query, wanted in (
        ("status=FAILED", listed.is_failed),
        (
            f"from={first:%Y-%m-%dT%H:%M:%SZ}&until={last:%Y-%m-%dT%H:%M:%SZ}",
            lambda payment: first.replace(microsecond=0) <= payment.planned_at < last.replace(microsecond=0),
        ),
    ):
        found = [id for ids in stored.walked(f"{query}&order={order}&limit=50") for id in ids]
        expected = stored.in_order(wanted)
        assert found == (expected if order == "asc" else expected[::-1])
        assert len(expected) >= 10
