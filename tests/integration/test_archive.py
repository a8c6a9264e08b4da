"""The machine `archive` with the real function: feeds become objects in S3 whose names only a key opens."""

import gzip
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import boto3
import pytest

from cli.archive import read, verify
from functions.archive import handler as archive
from functions.archive.retain import Retainer
from postdate.domain.errors import Unavailable
from postdate.runtime.clock import SystemClock
from postdate.stores.archive import S3Archive
from postdate.stores.reports import S3Reports, noted_archive
from tests.engines import Engines, speaking_to
from tests.integration.conftest import SETTINGS, entered, forget
from tests.integration.test_events import Stream, recorded
from tests.integration.world import Client, Context, World
from tests.machine import RETRY, Interpreted

_tenants = count(1)
NAMES = ("mrs-miller", "house-7", "November rent", "order-4711")


class Tomorrow(SystemClock):
    def now(self) -> datetime:
        return super().now() + timedelta(days=1)


@pytest.fixture
def world(new_world: Callable[[], World], boundary: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A world and a bucket for this test alone, because the archive looks at all tenants."""
    made = new_world()
    bucket = f"integration-archive-{next(_tenants)}"
    boto3.Session().client("s3").create_bucket(Bucket=bucket)
    made.environment["ARCHIVE_BUCKET"] = bucket  # type: ignore[index]
    yield entered(made, monkeypatch)
    forget()


@pytest.fixture
def s3(engine: Engines) -> Any:
    with speaking_to(engine):
        return boto3.client("s3")


@pytest.fixture
def stored(world: World, s3: Any) -> S3Archive:
    return S3Archive(bucket=world.environment["ARCHIVE_BUCKET"], client=s3)


def machine(call: Any = None) -> Interpreted:
    calls = {"Archive": call or (lambda event: archive.handler(event, Context()))}
    return Interpreted(name="archive", calls=calls, clock=SystemClock())


def ran(run: Interpreted, name: str, **given: Any) -> str:
    run.start(name, given)
    run.run()
    return run.status[name]


def active(world: World) -> Client:
    """A tenant with accounts, a payment that was changed, and events of both."""
    client = world.tenant(f"archived-{next(_tenants)}")
    streams = [Stream(world, client, table) for table in ("accounts", "payments")]
    client.accounts(**{"mrs-miller": 100, "house-7": 0})
    form = {"from_account_id": "mrs-miller", "to_account_id": "house-7", "delay_seconds": 3600}
    terms = {"description": "November rent", "metadata": {"order-4711": "order-4711"}}
    path = client.pay(key="k", **form, **terms).headers["location"]
    assert [recorded(stream.records()) for stream in streams] == [[], []]
    client.call("PATCH", path, {"amount": 7})
    assert recorded(streams[1].records()) == []
    return client


def told(client: Client) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = client.get("/api/v1/events", query="limit=100").body["events"]
    return sorted(events, key=lambda event: event["event_id"])


def test_all_feeds_are_archived_without_a_readable_name_and_read_back_by_their_keys(
    world: World, stored: S3Archive, s3: Any
) -> None:
    first, second = active(world), active(world)
    assert ran(machine(), "today", today=True) == "SUCCEEDED"
    found = verify(stored)
    assert (found.problems, found.owners, found.unnamed) == ([], 2, 0)
    assert found.events == len(told(first)) + len(told(second)) >= 6
    for client in (first, second):
        there = sorted(read(stored, world.vault, client.tenant), key=lambda event: event["event_id"])
        assert there == told(client)
    whole = b"".join(_readable(stored, key) for key in stored.keys(""))
    assert b'"amount":7' in whole
    secrets = (*NAMES, first.tenant, second.tenant, first.key_id)
    assert [name for name in secrets if name.encode() in whole] == []
    reports = S3Reports(bucket=SETTINGS["REPORTS_BUCKET"], client=s3)
    noted = noted_archive(reports)
    assert noted is not None
    assert (noted.failed, datetime.now(UTC) - noted.finished_at < timedelta(minutes=1)) == ((), True)


def _readable(stored: S3Archive, key: str) -> bytes:
    content = stored.get(key) or b""
    return key.encode() + (gzip.decompress(content) if key.endswith(".gz") else content)


def test_a_day_is_archived_when_it_is_over_and_once(
    world: World, stored: S3Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    active(world)
    assert ran(machine(), "tonight") == "SUCCEEDED"
    assert stored.keys("") == []
    monkeypatch.setattr(archive, "SystemClock", Tomorrow)
    archive.wired.cache_clear()
    assert ran(machine(), "tomorrow") == "SUCCEEDED"
    there = stored.keys("")
    assert len(there) == 3
    assert ran(machine(), "tomorrow-again") == "SUCCEEDED"
    assert stored.keys("") == there


def test_a_feed_that_fails_stops_no_other_and_is_named(
    world: World, stored: S3Archive, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of the first tenant does not open: somebody wrote over it."""
    harmed, other = sorted((active(world), active(world)), key=lambda client: client.tenant)
    world.vault.seal(f"archive/{harmed.tenant}", "archive", "x")
    key = {"owner": {"S": f"archive/{harmed.tenant}"}}
    table = world.tables["data_keys"]
    row = world.dynamodb.get_item(TableName=table, Key=key)["Item"]
    world.dynamodb.put_item(TableName=table, Item=row | {"wrapped": {"S": "AAAA"}})
    assert ran(machine(), "harmed", today=True) == "FAILED"
    assert verify(stored).events == len(told(other))
    noted = noted_archive(S3Reports(bucket=SETTINGS["REPORTS_BUCKET"], client=s3))
    assert noted is not None
    assert noted.failed == (harmed.tenant,)
    world.dynamodb.put_item(TableName=table, Item=row)
    assert ran(machine(), "mended", today=True) == "SUCCEEDED"
    assert verify(stored).events == len(told(other)) + len(told(harmed))


def test_a_walk_over_payments_that_does_not_end_leaves_no_note(
    world: World, s3: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the reconciliation tells that the archive stands."""
    reports = S3Reports(bucket=SETTINGS["REPORTS_BUCKET"], client=s3)
    before = noted_archive(reports)

    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(Retainer, "run", fail)
        feeds = archive.handler({}, Context())
        with pytest.raises(Unavailable):
            archive.handler({**feeds, "action": "payments"}, Context())
    assert noted_archive(reports) == before
    archive.handler({**feeds, "action": "payments"}, Context())
    assert noted_archive(reports) != before


def test_all_edges_of_the_machine_are_walked(world: World) -> None:
    active(world)
    called: list[str] = []

    def in_steps(event: dict[str, Any]) -> Any:
        """Each step is called three times: it goes on, it fails, it ends."""
        action = event.get("action", "feeds")
        called.append(action)
        if called.count(action) == 2:
            raise RuntimeError("tried again")
        answer = archive.handler(event, Context())
        return {**answer, "goes_on": True} if called.count(action) == 1 else answer

    run = machine(in_steps)
    assert ran(run, "in-steps", today=True) == "SUCCEEDED"
    ended = {"manifests": 0, "events": 0, "failed": [], "goes_on": False, "is_behind": True}
    behind = machine(lambda event: ended)
    assert ran(behind, "behind") == "FAILED"
    walked = run.walked | behind.walked
    assert machine().edges - walked == set()
    assert {state for state, way in walked if way == RETRY} == {"Archive", "ArchivePayments"}
