"""Flow keys and destinations through the API's handler: what a tenant sets is what workers keep to."""

from collections import Counter
from datetime import UTC, datetime, timedelta

from functions.run_tasks.wiring import wired as workers
from postdate.domain import breaker as rules
from postdate.domain.breaker import Breaker
from postdate.stores.flow_dynamo import DynamoFlow
from tests.boundary import Boundary
from tests.integration.test_api_errors import problem
from tests.integration.world import Client, World

KEYS = "/api/v1/flow-keys"
MAIL = f"{KEYS}/mail"
DESTINATIONS = "/api/v1/destinations"
NARROW = {"key": "mail", "parallelism": 5}


def runs_now(world: World, client: Client) -> None:
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    workers().flow_keys._known.clear()


def test_a_paused_key_holds_its_tasks_back_until_it_is_resumed(world: World, client: Client) -> None:
    assert client.call("POST", f"{MAIL}/pause").body["paused"]
    task_id = client.register(flow_control=NARROW).body["task_id"]
    runs_now(world, client)
    assert client.get(f"/api/v1/tasks/{task_id}").body["attempts"] == 0
    told = client.get(MAIL).body
    assert (told["paused"], told["waiting"], told["running"]) == (True, 1, None)
    resumed = client.call("POST", f"{MAIL}/resume").body
    assert (resumed["paused"], resumed["paused_at"], resumed["waiting"]) == (False, None, 0)
    workers().flow_keys._known.clear()
    other = client.register(flow_control=NARROW).body["task_id"]
    runs_now(world, client)
    assert client.get(f"/api/v1/tasks/{other}").body["status"] == "SUCCEEDED"
    assert client.get(MAIL).body["running"] == 0


def test_a_pause_costs_two_requests_and_is_no_change_when_said_twice(
    client: Client, boundary: Boundary
) -> None:
    boundary.clear()
    first = client.call("POST", f"{MAIL}/pause").body
    assert Counter(call.operation for call in boundary.calls if call.operation != "BatchGetItem") == {
        "GetItem": 1,
        "UpdateItem": 1,
    }
    again = client.call("POST", f"{MAIL}/pause").body
    assert (again["version"], again["paused_at"]) == (first["version"], first["paused_at"])


def test_a_pinned_value_stays_until_it_is_taken_away(client: Client) -> None:
    pinned = client.call("PATCH", MAIL, {"rate": 5, "period_seconds": 60})
    assert (pinned.status, pinned.body["rate"], pinned.body["parallelism"]) == (200, 5, None)
    both = client.call("PATCH", MAIL, {"parallelism": 2}, {"if-match": pinned.headers["etag"]})
    assert (both.body["rate"], both.body["period_seconds"], both.body["parallelism"]) == (5, 60, 2)
    late = client.call("PATCH", MAIL, {"parallelism": 3}, {"if-match": pinned.headers["etag"]})
    assert problem(late) == (412, "version_conflict")
    none = client.call("PATCH", MAIL, {"rate": None}).body
    assert (none["rate"], none["period_seconds"], none["parallelism"]) == (None, 1, 2)


def test_what_pins_nothing_or_too_much_is_refused(client: Client) -> None:
    for form in (
        {},
        {"rate": 0},
        {"rate": 10_001},
        {"parallelism": 101},
        {"period_seconds": 60},
        {"paused": True},
    ):
        assert problem(client.call("PATCH", MAIL, form)) == (422, "validation_failed"), form
    assert problem(client.get(MAIL)) == (404, "not_found")
    assert problem(client.call("POST", f"{KEYS}/{'x' * 129}/pause")) == (404, "not_found")


def test_keys_are_listed_page_by_page_and_each_tenant_sees_its_own(world: World, client: Client) -> None:
    for name in ("a", "b", "c%20d"):
        client.call("POST", f"{KEYS}/{name}/pause")
    other = world.tenant(f"{client.tenant}-other")
    assert other.get(KEYS).body == {"flow_keys": [], "next_cursor": None}
    assert problem(other.get(f"{KEYS}/a")) == (404, "not_found")
    first = client.get(KEYS, "limit=2").body
    assert [each["key"] for each in first["flow_keys"]] == ["a", "b"]
    second = client.get(KEYS, f"limit=2&cursor={first['next_cursor']}").body
    assert ([each["key"] for each in second["flow_keys"]], second["next_cursor"]) == (["c d"], None)


def test_a_destination_that_is_down_is_shown_tried_and_let_go_by_its_tenant(
    world: World, client: Client
) -> None:
    flow, now = DynamoFlow(table=world.tables["flow"], client=world.dynamodb), datetime.now(UTC)
    circuit = (client.tenant, "webhook:https://down.example")
    opened = rules.failed(Breaker(), 10, now=now, error="connection refused")
    assert flow.change_breaker(circuit, Breaker(), opened)
    (shown,) = client.get(DESTINATIONS).body["destinations"]
    assert (shown["type"], shown["address"]) == ("webhook", "https://down.example")
    assert (shown["state"], shown["failures"], shown["last_error"]) == ("OPEN", 10, "connection refused")
    assert shown["next_probe_at"] > now.isoformat()
    other = world.tenant(f"{client.tenant}-other")
    path = f"{DESTINATIONS}/{shown['id']}"
    assert problem(other.call("POST", f"{path}/reset")) == (404, "not_found")
    assert problem(client.call("POST", f"{DESTINATIONS}/nothing/reset")) == (404, "not_found")
    assert client.call("POST", f"{path}/probe").body["state"] == "HALF_OPEN"
    told = client.call("POST", f"{path}/reset").body
    assert (told["state"], told["failures"]) == ("RECOVERING", 0)
    assert client.get(DESTINATIONS).body == {"destinations": [], "next_cursor": None}
    assert flow.breakers([circuit])[circuit].closed_at is not None
    assert flow.breakers([circuit])[circuit].closed_at >= now - timedelta(seconds=1)


def test_destinations_come_page_by_page(world: World, client: Client) -> None:
    flow, now = DynamoFlow(table=world.tables["flow"], client=world.dynamodb), datetime.now(UTC)
    hosts = [f"https://{name}.example" for name in ("a", "b", "c" * 300 + "a", "c" * 300 + "b", "d")]
    for host in hosts:
        opened = rules.failed(Breaker(), 10, now=now, error="connection refused")
        assert flow.change_breaker((client.tenant, f"webhook:{host}"), Breaker(), opened)
    found, cursor = list[str](), ""
    while True:
        page = client.get(DESTINATIONS, f"limit=2{cursor}").body
        assert len(page["destinations"]) <= 2
        found += [each["address"] for each in page["destinations"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert sorted(found) == hosts
    assert [each[:9] for each in found] == [each[:9] for each in hosts]
    assert [each["address"] for each in client.get(DESTINATIONS).body["destinations"]] == found
    for wrong in ("limit=0", "limit=101", "cursor=x", "state=OPEN"):
        assert problem(client.get(DESTINATIONS, wrong)) == (422, "validation_failed")
