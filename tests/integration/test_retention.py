"""A finished payment leaves its table for the archive: the machine with the real function, and the API afterwards."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import count
from typing import Any, ClassVar

import boto3
import pytest

from functions.api import wiring
from functions.archive import handler as archive
from postdate.domain import instants
from postdate.domain.slots import home
from postdate.runtime.clock import SystemClock
from postdate.stores.archive import S3Archive
from postdate.stores.rows import item_key
from postdate.stores.walks import DynamoWalks
from tests.engines import Engines, speaking_to
from tests.integration.conftest import entered, forget
from tests.integration.test_archive import machine, ran
from tests.integration.test_events import Stream, recorded
from tests.integration.world import Client, World

_names = count(1)
DAY = timedelta(days=1)


class Later(SystemClock):
    ahead: ClassVar[timedelta] = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead

    def sleep_until(self, instant: datetime) -> None:
        super().sleep_until(instant - self.ahead)


@pytest.fixture
def world(new_world: Callable[[], World], boundary: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world and a bucket for this test alone, because the walk looks at all slots."""
    made = new_world()
    bucket = f"integration-retention-{next(_names)}"
    boto3.Session().client("s3").create_bucket(Bucket=bucket)
    made.environment["ARCHIVE_BUCKET"] = bucket  # type: ignore[index]
    monkeypatch.setattr(archive, "SystemClock", Later)
    monkeypatch.setattr(wiring, "SystemClock", Later)
    monkeypatch.setattr(Later, "ahead", timedelta(0))
    yield entered(made, monkeypatch)
    forget()


@pytest.fixture
def stored(world: World, engine: Engines) -> S3Archive:
    with speaking_to(engine):
        return S3Archive(bucket=world.environment["ARCHIVE_BUCKET"], client=boto3.client("s3"))


@pytest.fixture
def client(world: World) -> Client:
    made = world.tenant(f"retained-{next(_names)}")
    made.accounts(alice=100, bob=0)
    return made


def later(ahead: timedelta) -> None:
    Later.ahead = ahead
    archive.wired.cache_clear()
    wiring.wired.cache_clear()


def completed(world: World, client: Client) -> str:
    stream = Stream(world, client, "payments")
    id: str = client.pay(key="rent", description="November rent", delay_seconds=2).body["payment_id"]
    path = f"/api/v1/payments/{id}"
    assert recorded(stream.records()) == []
    assert client.call("PATCH", path, {"metadata": {"order": "4711"}}).status == 200
    assert recorded(stream.records()) == []
    SystemClock().sleep_until(SystemClock().now() + timedelta(seconds=2))
    assert world.settle(world.received(world.queues["payments"])) == []
    assert client.get(path).body["status"] == "COMPLETED"
    assert recorded(stream.records()) == []
    return id


def left_the_table(world: World, id: str) -> dict[str, Any]:
    """Archives the events of today, walks over the payment's minute two weeks later, and removes the row as DynamoDB
    does. Returns the row."""
    assert ran(machine(), f"today-{id}", today=True) == "SUCCEEDED"
    minute = home(id).minute
    DynamoWalks(table=world.tables["slots"], client=world.dynamodb).walk_to(minute - 1)
    later(instants.start_of(minute + 2) + 14 * DAY - SystemClock().now())
    assert ran(machine(), f"walk-{id}") == "SUCCEEDED"
    row: dict[str, Any] = world.dynamodb.get_item(TableName=world.tables["payments"], Key=item_key(id))[
        "Item"
    ]
    ends = instants.end_of(minute) + 400 * DAY
    assert instants.EPOCH + timedelta(seconds=int(row["expires_at"]["N"])) >= ends - timedelta(seconds=1)
    later(401 * DAY)
    world.dynamodb.delete_item(TableName=world.tables["payments"], Key=item_key(id))
    return row


def test_an_archived_payment_answers_by_its_id_and_replays_its_key(
    world: World, client: Client, stored: S3Archive
) -> None:
    id = completed(world, client)
    path = f"/api/v1/payments/{id}"
    before, executions = client.get(path), client.get(f"{path}/executions").body
    balances = [client.get(f"/api/v1/accounts/{each}").body["balance"] for each in ("alice", "bob")]
    assert client.get("/api/v1/audit").body["ok"]
    left_the_table(world, id)
    (key,) = stored.keys("payments/")
    assert key.endswith("/slot-0001.jsonl.gz")
    after = client.get(path)
    assert (after.status, after.body, after.headers["etag"]) == (200, before.body, before.headers["etag"])
    assert client.get(f"{path}/executions").body == executions
    assert client.call("POST", f"{path}/cancel").status == 409
    again = client.pay(key="rent", description="November rent", delay_seconds=2)
    assert (again.status, again.headers["idempotent-replayed"]) == (201, "true")
    assert again.body["payment_id"] == id
    other = client.pay(key="rent", amount=11, delay_seconds=2)
    assert (other.status, other.body["code"]) == (422, "idempotency_key_reused")
    assert [client.get(f"/api/v1/accounts/{each}").body["balance"] for each in ("alice", "bob")] == balances
    audit = client.get("/api/v1/audit").body
    assert (audit["ok"], audit["unread"], audit["moving"]) == (True, [], [])
    stranger = world.tenant(f"stranger-{next(_names)}")
    assert stranger.get(path).status == 404


def test_a_payment_in_the_table_and_a_young_id_ask_nothing_of_s3(
    world: World, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = completed(world, client)
    unknown = id[:-1] + ("0" if id[-1] != "0" else "1")
    later(399 * DAY)

    def fail(*_: Any) -> None:
        raise AssertionError("the archive was asked")

    monkeypatch.setattr(S3Archive, "get", fail)
    assert client.get(f"/api/v1/payments/{id}").status == 200
    assert client.pay(key="rent", description="November rent", delay_seconds=2).status == 201
    assert client.get(f"/api/v1/payments/{unknown}").status == 404
    world.vault.seal(f"archive/{client.tenant}", "archive", "x")
    later(400 * DAY + timedelta(minutes=2))
    with pytest.raises(AssertionError, match="the archive was asked"):
        wiring.wired().payments.changer.load(client.tenant, unknown)
