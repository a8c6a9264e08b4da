"""Tasks whose deliveries register tasks come to an end."""

from typing import Any

import pytest

from functions.api.limits.meter import Meter
from functions.api.limits.stored import StoredTasks
from functions.api.wiring import wired
from postdate.domain.tenancy import Tenancy
from postdate.stores.tenants import Tenant
from tests.integration.test_api_errors import problem
from tests.integration.world import Answer, Client, World

TASKS = "/api/v1/tasks"


def sent(client: Client, world: World) -> list[str]:
    """The depths that the messages of all calls carry that are due."""
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    return [each["messageAttributes"]["Postdate-Depth"] for each in world.received(client.queue_url)]


def post(client: Client, path: str, form: Any, depth: object) -> Answer:
    return client.call("POST", path, form, {"postdate-depth": str(depth)})


def task(client: Client) -> dict[str, Any]:
    return {"delay_seconds": 0, "target": client.target, "payload": {"n": 1}}


def test_a_delivery_carries_one_more_than_the_request_that_registered_its_task(
    client: Client, world: World
) -> None:
    assert client.register().status == 201
    assert post(client, TASKS, task(client), 3).status == 201
    assert post(client, f"{TASKS}/batch", {"tasks": [task(client)]}, 4).status == 200
    job = {"delaySeconds": 0, "target": {"type": "sqs", "queueUrl": client.queue_url}}
    assert post(client, "/v1/jobs", job | {"idempotencyKey": "j"}, 5).status == 201
    assert sorted(sent(client, world)) == ["1", "4", "5", "6"]


def test_a_run_that_a_delivery_triggers_is_as_deep_as_that_delivery(client: Client, world: World) -> None:
    form = {"cron": "0 0 1 1 *", "target": client.target}
    path = f"{TASKS}/{post(client, TASKS, form, 2).body['task_id']}"
    assert client.call("POST", f"{path}/trigger").status == 201
    assert post(client, f"{path}/trigger", None, 4).status == 201
    assert sorted(sent(client, world)) == ["3", "5"]


def test_runs_that_a_delivery_backfills_are_as_deep_as_that_delivery(client: Client, world: World) -> None:
    form = {"cron": "0 0 * * *", "target": client.target}
    path = f"{TASKS}/{client.call('POST', TASKS, form).body['task_id']}"
    span = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"}
    assert post(client, f"{path}/backfill", span, 4).status == 202
    assert sent(client, world) == []
    assert sent(client, world) == ["5"] * 3


@pytest.mark.parametrize("path", ["", "/batch", "/unknown/trigger", "/unknown/backfill"])
def test_beyond_the_greatest_depth_nothing_is_registered(client: Client, path: str) -> None:
    form = {"": task(client), "/batch": {"tasks": [task(client)]}}.get(path)
    if path.startswith("/unknown"):
        known = client.call("POST", TASKS, {"cron": "0 0 * * *", "target": client.target}).body["task_id"]
        path = path.replace("unknown", known)
        form = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-03T00:00:00Z"} if "backfill" in path else None
    before = len(client.get(TASKS).body["tasks"])
    assert problem(post(client, f"{TASKS}{path}", form, 6)) == (422, "loop_refused")
    assert len(client.get(TASKS).body["tasks"]) == before


@pytest.mark.parametrize("depth", ["-1", "x", "", "1.5", "1000"])
def test_a_depth_that_is_no_number_is_refused(client: Client, depth: str) -> None:
    assert problem(post(client, TASKS, task(client), depth)) == (422, "validation_failed")


def slow_meter() -> Meter:
    """A meter for tenants that may register 25 items a second."""
    return Meter(
        flow=wired().tables.flow,
        clock=wired().clock,
        find=lambda id: Tenant(id=id, tenancy=Tenancy(registered_a_second=25)),
    )


def test_a_tenant_beyond_its_quota_is_told_when_to_come_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wired().guards, "meter", slow_meter())
    many = {"tasks": [task(client) | {"delay_seconds": 600}] * 100}
    answers = [client.call("POST", f"{TASKS}/batch", many) for _ in range(8)]
    assert {answer.status for answer in answers} == {200, 429}
    refused = next(answer for answer in answers if answer.status == 429)
    assert problem(refused) == (429, "quota_exceeded")
    assert refused.headers["retry-after"] == "1"
    assert refused.headers["ratelimit-policy"] == '"registered";q=250;w=10'
    assert refused.headers["ratelimit"] == '"registered";r=0;t=1'


def test_payments_count_against_the_quota_one_by_one_and_in_batches(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wired().guards, "meter", slow_meter())
    client.accounts(alice=1000, bob=0)

    def batch(size: int) -> int:
        return client.call("POST", "/api/v1/payments/schedule/batch", {"payments": [{}] * size}).status

    assert {batch(100) for _ in range(8)} == {200, 429}
    while batch(10) == 200:
        pass
    assert 429 in [client.pay(key=f"k{number}").status for number in range(11)]


def test_limits_are_told(client: Client) -> None:
    told = client.get("/api/v1/limits").body
    assert told["registered"] == {"limit": 10_000, "used": 0, "window_seconds": 10}
    assert told["runs_in_flight"] == {"limit": 1600, "per_worker": 100}
    assert told["depth"] == {"limit": 5}
    assert told["tasks_stored"] == {"limit": 10_000_000, "used": 0}


def test_tasks_that_are_stored_are_counted_once_and_the_count_has_a_limit(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request that is repeated registers nothing, and counts for nothing."""
    stored = StoredTasks(flow=wired().tables.flow, clock=wired().clock, most=450)
    monkeypatch.setattr(wired().guards, "stored", stored)
    forms = [
        {"delay_seconds": 600, "target": client.target, "idempotency_key": f"k{place}"}
        for place in range(100)
    ]

    def batch(name: str) -> int:
        return client.call(
            "POST", "/api/v1/tasks/batch", {"tasks": [form | {"name": name} for form in forms]}
        ).status

    def used() -> int:
        return int(client.get("/api/v1/limits").body["tasks_stored"]["used"])

    assert [batch("a"), batch("a")] == [200, 200]
    assert used() == 100
    unkeyed = [{"delay_seconds": 600, "target": client.target}] * 100
    answers = [client.call("POST", "/api/v1/tasks/batch", {"tasks": unkeyed}) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429]
    assert problem(answers[-1]) == (429, "quota_exceeded")
    assert used() == 400
