"""Changes of payments through the real functions: rows, their stream's records, the recorder, the feed."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from functions.api.events.waiting import OWNER, ROOM
from functions.api.wiring import wired
from functions.record.handler import handler as record
from postdate.domain import instants
from postdate.domain.calendar import DueCount
from postdate.runtime.metric import STANDARD, TIERS
from postdate.stores.calendar import DynamoCalendar
from postdate.stores.flow_dynamo import DynamoFlow
from tests.boundary import Boundary, Call, refused
from tests.integration.world import Client, Context, World

_numbers = count(1)


class Stream:
    """The records that a stream would have of a tenant's rows: each row as it is now, after what it was at the last
    look. The local engine's own streams are another test's."""

    def __init__(self, world: World, client: Client, table: str = "payments") -> None:
        self._table = table
        described = world.dynamodb.describe_table(TableName=world.tables[table])["Table"]
        self._keys = [each["AttributeName"] for each in described["KeySchema"]]
        self._world = world
        self._client = client
        self._known: dict[str, Any] = {}

    def records(self) -> list[dict[str, Any]]:
        table = self._world.tables[self._table]
        found = []
        for row in self._world.rows(table):
            id = "/".join(row[name]["S"] for name in self._keys)
            if not self.is_ours(row) or self._known.get(id) == row:
                continue
            found.append(_record(table, self._known.get(id), row, self._keys))
            self._known[id] = row
        return found

    def is_ours(self, row: Mapping[str, Any]) -> bool:
        return bool(row.get("tenant", {}).get("S") == self._client.tenant)


def _record(table: str, before: Any, after: Mapping[str, Any], keys: list[str]) -> dict[str, Any]:
    return {
        "eventName": "MODIFY" if before else "INSERT",
        "eventSourceARN": f"arn:aws:dynamodb:us-east-1:000000000000:table/{table}/stream/1",
        "dynamodb": {
            "SequenceNumber": f"{next(_numbers):020d}",
            "Keys": {name: after[name] for name in keys},
            "NewImage": after,
            **({"OldImage": before} if before else {}),
        },
    }


def recorded(records: list[dict[str, Any]]) -> list[str]:
    """The records that failed."""
    answer = record({"Records": records}, Context())
    return [each["itemIdentifier"] for each in answer["batchItemFailures"]]


@pytest.fixture
def payer(client: Client) -> Client:
    client.accounts(alice=100, bob=0)
    return client


@pytest.fixture
def stream(world: World, payer: Client) -> Stream:
    return Stream(world, payer)


def test_seventy_edits_are_seventy_events_with_their_values_and_the_key_that_made_them(
    payer: Client, stream: Stream
) -> None:
    path = payer.pay(key="a", delay_seconds=3600).headers["location"]
    assert recorded(stream.records()) == []
    for number in range(70):
        assert payer.call("PATCH", path, {"description": f"edit {number}"}).status == 200
        assert recorded(stream.records()) == []
    told = payer.get(f"{path}/events").body["events"]
    assert [event["sequence"] for event in told] == list(range(1, 72))
    assert {event["event_type"] for event in told[1:]} == {"CHANGED"}
    assert [event["data"]["after"]["description"] for event in told[1:]] == [f"edit {n}" for n in range(70)]
    assert [event["data"]["before"].get("description") for event in told[2:]] == [
        f"edit {n}" for n in range(69)
    ]
    assert {(event["actor"]["type"], event["actor"]["id"]) for event in told} == {("key", payer.key_id)}
    assert not any("reconstructed" in event for event in told)
    feed = payer.get("/api/v1/events", query="limit=100").body
    assert [event["event_id"] for event in feed["events"]] == [event["event_id"] for event in told]
    first = payer.get(f"/api/v1/events/{told[7]['event_id']}").body
    assert first == feed["events"][7]


def test_the_trail_of_a_payment_is_complete_before_its_changes_are_recorded(
    payer: Client, stream: Stream
) -> None:
    path = payer.pay(key="a", delay_seconds=3600).headers["location"]
    payer.call("PATCH", path, {"amount": 7})
    before = payer.get(f"{path}/events").body["events"]
    assert [(event["event_type"], event["recorded_at"]) for event in before] == [
        ("SCHEDULED", None),
        ("CHANGED", None),
    ]
    assert all(event["reconstructed"] for event in before)
    records = stream.records()
    assert recorded(records) == []
    after = payer.get(f"{path}/events").body["events"]
    assert [event["sequence"] for event in after] == [1, 2]
    assert "reconstructed" not in after[1]


def test_the_trail_of_a_payment_has_pages(payer: Client, stream: Stream) -> None:
    path = payer.pay(key="a", delay_seconds=3600).headers["location"]
    for number in range(4):
        payer.call("PATCH", path, {"amount": 7 + number})
    first = payer.get(f"{path}/events", query="limit=3").body
    second = payer.get(f"{path}/events", query=f"limit=3&cursor={first['next_cursor']}").body
    assert [event["sequence"] for event in (*first["events"], *second["events"])] == [1, 2, 3, 4, 5]
    assert second["next_cursor"] is None


def test_a_batch_that_cannot_be_written_comes_again_and_is_recorded_once(
    payer: Client, stream: Stream, boundary: Boundary
) -> None:
    payer.pay(key="a", delay_seconds=3600)
    records = stream.records()
    boundary.fail("BatchExecuteStatement", *[refused("InternalServerError", status=500)] * 10)
    assert recorded(records) == [records[0]["dynamodb"]["SequenceNumber"]]
    boundary.clear()
    assert recorded(records) == []
    assert recorded(records) == []
    assert len(payer.get("/api/v1/events").body["events"]) == 1


def test_a_record_that_cannot_be_read_becomes_a_letter_without_values(
    payer: Client, stream: Stream, world: World
) -> None:
    payer.pay(key="a", delay_seconds=3600, description="private")
    payer.pay(key="b", delay_seconds=3600)
    records = stream.records()
    broken = records[0]["dynamodb"]["NewImage"] | {"status": {"S": "UNHEARD_OF"}}
    records[0]["dynamodb"]["NewImage"] = broken
    assert recorded(records) == []
    assert len(payer.get("/api/v1/events").body["events"]) == 1
    (letter,) = world.sqs.receive_message(QueueUrl=world.queues["events-dlq"])["Messages"]
    assert json.loads(letter["Body"])["keys"]["id"] == broken["id"]["S"]
    assert "private" not in letter["Body"]


def test_events_are_their_tenants_alone_and_need_their_scope(
    payer: Client, stream: Stream, world: World
) -> None:
    path = payer.pay(key="a", delay_seconds=3600).headers["location"]
    recorded(stream.records())
    (event,) = payer.get("/api/v1/events").body["events"]
    other = world.tenant("somebody-else-of-events")
    assert other.get("/api/v1/events").body["events"] == []
    assert other.get(f"/api/v1/events/{event['event_id']}").status == 404
    assert other.get(f"{path}/events").status == 404
    for missing in ("evt_9_" + event["subject"]["id"], "evt_1_nobody", "x"):
        assert payer.get(f"/api/v1/events/{missing}").status == 404


def test_a_task_and_a_plan_are_told_with_the_key_that_changed_them(client: Client, world: World) -> None:
    items = Stream(world, client, "items")
    task = client.register(delay_seconds=3600, payload={"order": "hidden"}).body["task_id"]
    form = {"cron": "0 9 * * *", "target": client.target, "payload": {}}
    plan = client.call("POST", "/api/v1/tasks", form).body["task_id"]
    assert recorded(items.records()) == []
    assert client.call("DELETE", f"/api/v1/tasks/{task}").status == 200
    assert client.call("POST", f"/api/v1/tasks/{plan}/pause", {}).status == 200
    assert recorded(items.records()) == []
    events = client.get("/api/v1/events", query="limit=100").body["events"]
    of_task = [event for event in events if event["subject"]["id"] == task]
    assert [event["type"] for event in of_task] == ["task.registered", "task.cancelled"]
    of_plan = [event for event in events if event["subject"]["id"] == plan]
    assert [event["type"] for event in of_plan] == ["plan.created", "plan.paused"]
    assert {event["actor"]["id"] for event in (*of_task, *of_plan)} == {client.key_id}
    assert [event["type"] for event in events if event["subject"]["kind"] == "run"][:1] == ["run.registered"]
    assert "hidden" not in json.dumps(events)
    for event in events:
        assert client.get(f"/api/v1/events/{event['event_id']}").body == event


def test_a_wait_of_more_than_two_seconds_takes_a_seat_and_leaves_it(client: Client, world: World) -> None:
    flow = DynamoFlow(table=world.tables["flow"], client=world.dynamodb)
    # Other tests of this world have waited as well.
    before = flow.room(OWNER, ROOM).version
    began = time.monotonic()
    assert client.get("/api/v1/events", query="wait_seconds=3").body["events"] == []
    assert time.monotonic() - began >= 3
    room = flow.room(OWNER, ROOM)
    assert (room.version - before, room.runs) == (1, {})


def test_the_operators_calendar_counts_each_change_once(
    world: World, payer: Client, stream: Stream, boundary: Boundary
) -> None:
    """Others count in the same rows: what this tenant adds is told by the difference."""
    calendar = DynamoCalendar(table=world.tables["slots"], client=world.dynamodb)
    due_at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=3)
    minute = instants.minute_of(due_at)

    def counted() -> DueCount:
        return calendar.between(minute, minute).get(STANDARD, {}).get(minute, DueCount())

    before = counted()
    paid = payer.pay(key="p", scheduled_time=due_at.isoformat())
    payer.register(run_at=due_at.isoformat())
    tasks = Stream(world, payer, "items")
    registered = [*stream.records(), *tasks.records()]
    assert recorded(registered) == []
    assert counted() == before + DueCount(tasks=1, payments=1, amount=10)
    assert recorded(registered) == []
    assert counted() == before + DueCount(tasks=1, payments=1, amount=10)

    assert payer.call("POST", f"/api/v1/payments/{paid.body['payment_id']}/cancel", {}).status == 200
    boundary.fail("UpdateItem", refused("InternalServerError", 500), refused("InternalServerError", 500))
    assert recorded(stream.records()) == []
    assert counted() == before + DueCount(tasks=1)


def test_a_calendar_that_cannot_be_counted_holds_no_event_up(
    payer: Client, stream: Stream, boundary: Boundary
) -> None:
    due_at = datetime.now(UTC) + timedelta(days=3)
    paid = payer.pay(key="p", scheduled_time=due_at.isoformat())
    boundary.fail("UpdateItem", *[refused("InternalServerError", 500)] * 5)
    assert recorded(stream.records()) == []
    assert boundary.faults_left == 0
    told = payer.get(f"/api/v1/payments/{paid.body['payment_id']}/events").body["events"]
    assert [each["event_type"] for each in told] == ["SCHEDULED"]


def test_items_of_a_gold_tenant_count_for_its_tier(
    world: World, payer: Client, stream: Stream, boundary: Boundary
) -> None:
    """The recorder reads a tenant once in ten minutes. A tenant that cannot be read counts as a standard one."""
    calendar = DynamoCalendar(table=world.tables["slots"], client=world.dynamodb)
    due_at = datetime.now(UTC).replace(microsecond=0) + timedelta(days=4)
    minute = instants.minute_of(due_at)

    def counted() -> dict[str, int]:
        found = calendar.between(minute, minute)
        return {tier: found.get(tier, {}).get(minute, DueCount()).payments for tier in TIERS}

    def reads_tenants(call: Call) -> bool:
        return call.operation == "GetItem" and call.asked["TableName"] == world.tables["tenants"]

    before = counted()
    known = world.tenants.get(payer.tenant)
    assert known is not None
    assert world.tenants.change(known, replace(known, tier="gold"))
    payer.pay(key="unread", scheduled_time=due_at.isoformat())
    boundary.fail("GetItem", *[refused("InternalServerError", 500)] * 100, when=reads_tenants)
    assert recorded(stream.records()) == []
    assert boundary.faults_left < 100
    boundary.clear()
    assert counted() == {"standard": before["standard"] + 1, "gold": before["gold"]}
    for number in range(2):
        payer.pay(key=f"p{number}", scheduled_time=due_at.isoformat())
        boundary.clear()
        assert recorded(stream.records()) == []
        assert sum(map(reads_tenants, boundary.calls)) == (number == 0)
    assert counted() == {"standard": before["standard"] + 1, "gold": before["gold"] + 2}


def test_operators_see_the_calendar_of_all_tenants(world: World, payer: Client, stream: Stream) -> None:
    due_at = datetime.now(UTC) + timedelta(days=2)
    payer.pay(key="p", scheduled_time=due_at.isoformat())
    recorded(stream.records())
    wired.cache_clear()
    calendar = Client(tenant="none", scopes="ops", operates=True).get("/api/v1/ops/overview").body["calendar"]
    hours = {each["at"]: each for each in calendar["hours"]}
    began = due_at.replace(minute=0, second=0, microsecond=0)
    assert hours[f"{began:%Y-%m-%dT%H:%M:%S.000Z}"]["amount"] >= 10
    assert calendar["next_week"]["payments"] >= 1
