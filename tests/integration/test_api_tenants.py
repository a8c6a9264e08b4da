"""Tenants, made and changed by operators, and the rotation of a tenant's signing secret."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from functions.api.limits.meter import Meter
from functions.api.wiring import wired
from functions.run_tasks.wiring import wired as runners
from functions.settle.handler import wired as settlers
from postdate.domain.errors import Unavailable
from postdate.stores.tenants import Tenant
from tests.integration.money import assert_sound, balances
from tests.integration.test_api_errors import problem
from tests.integration.world import Answer, Client, World

PATH = "/api/v1/ops/tenants"


@pytest.fixture(autouse=True)
def forgetful(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request reads its tenant, as if the last one was more than five seconds ago."""
    given = wired()

    def find(id: str) -> Tenant:
        return given.tables.tenants.get(id) or Tenant(id=id)

    monkeypatch.setattr(given.guards, "meter", Meter(flow=given.tables.flow, clock=given.clock, find=find))


@pytest.fixture
def operator(client: Client) -> Client:
    return Client(tenant=client.tenant, scopes="ops", operates=True)


def made(operator: Client, **fields: Any) -> dict[str, Any]:
    answer = operator.call("POST", PATH, {"tenant_id": f"{operator.tenant}-2", **fields})
    assert answer.status == 201, answer.body
    body: dict[str, Any] = answer.body
    return body


def registered(client: Client, tenant: str) -> Answer:
    """A payment's registration, which needs nothing else of the tenant: refused for its account once it is admitted."""
    return replace(client, tenant=tenant).pay(key="p", from_account_id="x", to_account_id="y")


def test_a_tenant_is_made_once_listed_and_used(operator: Client, world: World) -> None:
    queue = world.tenant(f"{operator.tenant}-q").queue_url
    tenant = made(operator, queues=[queue], default_target={"type": "sqs", "queue_url": queue})
    assert tenant["signing_secret"].startswith("whsec_")
    shown = operator.get(f"{PATH}/{tenant['tenant_id']}").body
    assert shown == {name: value for name, value in tenant.items() if name != "signing_secret"}
    assert (shown["status"], shown["version"], shown["queues"]) == ("ACTIVE", 1, [queue])
    again = operator.call("POST", PATH, {"tenant_id": tenant["tenant_id"]})
    assert problem(again) == (409, "invalid_state")
    listed, cursor = list[str](), ""
    while True:
        page = operator.get(PATH, f"limit=50{cursor}").body
        listed += [each["tenant_id"] for each in page["tenants"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert listed == sorted(set(listed))
    assert tenant["tenant_id"] in listed
    job = replace(operator, operates=False, scopes="tasks:write", tenant=tenant["tenant_id"]).call(
        "POST", "/v1/jobs", {"delaySeconds": 600, "payload": 1, "idempotencyKey": "j"}
    )
    assert job.status == 201, job.body


def test_only_an_operator_makes_or_sees_tenants(client: Client) -> None:
    tenants_own = Client(tenant=client.tenant, scopes="ops admin")
    assert problem(tenants_own.call("POST", PATH, {"tenant_id": "mine"})) == (403, "forbidden")
    assert problem(tenants_own.get(PATH)) == (403, "forbidden")


def test_a_change_replaces_what_it_names_and_nothing_else(operator: Client) -> None:
    tenant = made(operator, queues=["https://sqs.example.com/1/a"], buses=["postdate-destination-a"])
    path = f"{PATH}/{tenant['tenant_id']}"
    changed = operator.call("PATCH", path, {"queues": [], "tier": "gold"}).body
    assert (changed["queues"], changed["buses"]) == ([], ["postdate-destination-a"])
    assert (changed["quotas"], changed["version"]) == (
        {"registered_per_second": 5000, "runs_in_flight": None},
        2,
    )
    operator.call("PATCH", path, {"quotas": {"runs_in_flight": 50}})
    own = operator.call("PATCH", path, {"quotas": {"registered_per_second": 7}}).body
    assert own["quotas"] == {"registered_per_second": 7, "runs_in_flight": 50}
    reader = Client(tenant=tenant["tenant_id"], scopes="tasks:read")
    limits = reader.get("/api/v1/limits").body
    assert limits["tier"] == "gold"
    assert limits["registered"] == {"limit": 70, "used": 0, "window_seconds": 10}
    assert limits["runs_in_flight"] == {"limit": 48, "per_worker": 3}
    assert operator.call("PATCH", path, {"tier": "gold"}).body["version"] == own["version"]
    for wrong in ({}, {"tier": "huge"}, {"quotas": {"registered_per_second": 0}}, {"signing_secrets": []}):
        assert problem(operator.call("PATCH", path, wrong)) == (422, "validation_failed")
    elsewhere = {"default_target": {"type": "sqs", "queue_url": "https://sqs.example.com/1/b"}}
    assert problem(operator.call("PATCH", path, elsewhere)) == (422, "destination_not_allowed")
    assert problem(operator.call("PATCH", f"{PATH}/nobody", {"tier": "gold"})) == (404, "not_found")


def test_a_change_of_a_tenant_may_name_the_version_that_it_is_for(operator: Client) -> None:
    path = f"{PATH}/{made(operator)['tenant_id']}"
    first = operator.get(path).headers["etag"]
    changed = operator.call("PATCH", path, {"tier": "gold"}, {"if-match": first})
    assert (first, changed.status, changed.headers["etag"]) == ('"1"', 200, '"2"')
    assert operator.call("PATCH", path, {"tier": "gold"}, {"if-match": first}).body == changed.body
    late = operator.call("PATCH", path, {"spread_seconds": 5}, {"if-match": first})
    assert problem(late) == (412, "version_conflict")
    assert operator.get(path).body == changed.body
    suspended = operator.call("POST", f"{path}/suspend", {"pending": "run", "reason": "unpaid"})
    resumed = operator.call("POST", f"{path}/resume")
    assert [each.headers["etag"] for each in (suspended, resumed)] == ['"3"', '"4"']


def test_a_tenant_is_suspended_without_a_reason(operator: Client) -> None:
    path = f"{PATH}/{made(operator)['tenant_id']}"
    suspended = operator.call("POST", f"{path}/suspend", {"pending": "run"})
    assert (suspended.status, suspended.body["status"]) == (200, "SUSPENDED")
    assert suspended.body["suspended_because"] == "suspended by an operator"
    assert problem(operator.call("POST", f"{path}/suspend", {})) == (422, "validation_failed")


def test_a_suspended_tenant_reads_and_cancels_and_registers_nothing(client: Client, operator: Client) -> None:
    client.accounts(alice=50, bob=0)
    payment = client.pay(key="before", delay_seconds=600).body["payment_id"]
    path = f"{PATH}/{client.tenant}"
    suspended = operator.call("POST", f"{path}/suspend", {"pending": "run", "reason": "unpaid"}).body
    told = [suspended[name] for name in ("status", "suspended_because", "pending")]
    assert told == ["SUSPENDED", "unpaid", "run"]
    refused = [client.pay(key="p"), client.register(), client.register(cron="0 0 * * *", delay_seconds=None)]
    assert [problem(each) for each in refused[:2]] == [(403, "forbidden")] * 2
    assert "unpaid" in refused[0].body["detail"]
    assert client.get(f"/api/v1/payments/{payment}").status == 200
    assert client.call("DELETE", f"/api/v1/payments/{payment}/cancel").status == 200
    assert operator.call("POST", f"{path}/resume").body["status"] == "ACTIVE"
    assert client.pay(key="p").status == 201


def forget_switches() -> None:
    """Each worker reads the switches again, as if its reading were two seconds old."""
    for given in (wired().guards, runners(), settlers()):
        given.switchboard.forget()


def handled(
    world: World, client: Client, *, until: float, is_done: Callable[[], bool] = lambda: False
) -> None:
    """Handles the tenant's calls as they come."""
    while time.monotonic() < until and not is_done():
        for name, handle in (("payments", world.settle), ("tasks", world.run)):
            records = world.received(world.queues[name], tenant=client.tenant)
            assert handle(records) == [] if records else True
            for record in records:
                world.sqs.delete_message(QueueUrl=world.queues[name], ReceiptHandle=record["receiptHandle"])
        time.sleep(0.05)


def test_items_of_a_tenant_suspended_with_wait_wait_and_all_are_made_after_it_is_resumed(
    world: World, client: Client, operator: Client
) -> None:
    """Each payment is possible only after the one before, and one worker takes their messages in any order."""
    client.accounts(carol=100, alice=0, bob=0)
    people, due_at = ("carol", "alice", "bob"), datetime.now(UTC) + timedelta(seconds=1.5)
    payments = [
        client.pay(
            key=f"k-{place}",
            amount=100,
            funding="at_execution",
            from_account_id=people[place % 3],
            to_account_id=people[(place + 1) % 3],
            scheduled_time=(due_at + timedelta(milliseconds=200 * place)).isoformat(),
        ).body["payment_id"]
        for place in range(5)
    ]
    task = client.register().body["task_id"]
    path = f"{PATH}/{client.tenant}"
    told = operator.call("POST", f"{path}/suspend", {"pending": "wait", "reason": "fraud"}).body
    assert (told["status"], told["pending"]) == ("SUSPENDED", "wait")
    forget_switches()
    handled(world, client, until=time.monotonic() + 4)
    found = [client.get(f"/api/v1/payments/{id}").body for id in payments]
    assert [(each["status"], each["attempts"]) for each in found] == [("PENDING", 0)] * 5
    assert client.get(f"/api/v1/tasks/{task}").body["attempts"] == 0
    assert problem(client.pay(key="more")) == (403, "forbidden")
    resumed = operator.call("POST", f"{path}/resume").body
    assert (resumed["status"], resumed["pending"]) == ("ACTIVE", None)
    forget_switches()

    def are_done() -> bool:
        shown = [client.get(f"/api/v1/payments/{id}").body["status"] for id in payments]
        return {*shown, client.get(f"/api/v1/tasks/{task}").body["status"]} <= {
            "COMPLETED",
            "FAILED",
            "SUCCEEDED",
        }

    handled(world, client, until=time.monotonic() + 40, is_done=are_done)
    found = [client.get(f"/api/v1/payments/{id}").body for id in payments]
    assert [(each["status"], each["attempts"]) for each in found] == [("COMPLETED", 1)] * 5
    assert client.get(f"/api/v1/tasks/{task}").body["status"] == "SUCCEEDED"
    assert balances(client, "alice", "bob", "carol") == [(0, 0), (100, 0), (0, 0)]
    assert_sound(client)


def test_a_suspension_turns_the_tenants_switch_and_leaves_one_that_another_operator_turned(
    client: Client, operator: Client
) -> None:
    path, switch = f"{PATH}/{client.tenant}", f"/api/v1/ops/switches/tenant:{client.tenant}"

    def suspend(pending: str) -> None:
        operator.call("POST", f"{path}/suspend", {"pending": pending, "reason": pending})

    def is_on() -> bool:
        found: bool = operator.get(switch).body["on"]
        return found

    seen = []
    for pending in ("run", "wait", "wait", "run", "wait"):
        suspend(pending)
        seen.append(is_on())
    assert seen == [True, False, False, True, False]
    operator.call("POST", f"{path}/resume")
    assert is_on()
    operator.call("PUT", switch, {"on": False, "reason": "by hand"})
    suspend("run")
    operator.call("POST", f"{path}/resume")
    assert not is_on()


def test_a_suspension_that_broke_off_before_the_switch_is_completed_by_its_repetition(
    client: Client, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, switch = f"{PATH}/{client.tenant}", f"/api/v1/ops/switches/tenant:{client.tenant}"
    form = {"pending": "wait", "reason": "fraud"}

    def fails(*_: Any, **__: Any) -> None:
        raise Unavailable

    for action, on in (("suspend", False), ("resume", True)):
        with monkeypatch.context() as patch:
            patch.setattr(wired().tables.switches, "change", fails)
            assert (
                operator.call("POST", f"{path}/{action}", form if action == "suspend" else None).status == 503
            )
        assert operator.call("POST", f"{path}/{action}", form if action == "suspend" else None).status == 200
        assert operator.get(switch).body["on"] is on
        assert operator.get(path).body["status"] == ("ACTIVE" if on else "SUSPENDED")


def test_a_replaced_data_key_seals_from_an_hour_on_and_the_one_before_opens(
    client: Client, world: World, operator: Client
) -> None:
    path = f"{PATH}/{client.tenant}/replace-data-key"
    before = world.signing_secrets(client.tenant)
    answer = operator.call("POST", path)
    assert answer.status == 200, answer.body
    wait = datetime.fromisoformat(answer.body["seals_from"]) - datetime.now(UTC)
    assert timedelta(hours=1) < wait < timedelta(hours=1, minutes=5)
    assert problem(operator.call("POST", path)) == (409, "invalid_state")
    assert problem(client.call("POST", path)) == (403, "forbidden")
    assert problem(operator.call("POST", f"{PATH}/nobody/replace-data-key")) == (404, "not_found")
    assert world.signing_secrets(client.tenant) == before
    new = client.call("POST", "/api/v1/signing-secrets/rotate", {"overlap_seconds": 60}).body[
        "signing_secret"
    ]
    assert world.signing_secrets(client.tenant) == (new, *before)


def test_what_registers_asks_for_the_tenant_first(client: Client, operator: Client) -> None:
    tenant = made(operator)["tenant_id"]
    assert problem(registered(client, tenant)) == (404, "not_found")
    operator.call("POST", f"{PATH}/{tenant}/suspend", {"pending": "run", "reason": "unpaid"})
    assert problem(registered(client, tenant)) == (403, "forbidden")


def test_a_rotated_secret_signs_beside_the_one_before(client: Client, world: World) -> None:
    """Verified with the public library of Standard Webhooks."""
    (old,) = world.signing_secrets(client.tenant)
    answer = client.call("POST", "/api/v1/signing-secrets/rotate", {"overlap_seconds": 600})
    new = answer.body["signing_secret"]
    assert answer.body["previous_until"] is not None
    assert world.signing_secrets(client.tenant) == (new, old)
    client.register()
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    (message,) = world.received(client.queue_url)
    facts = {name.lower(): value for name, value in message["messageAttributes"].items()}
    for secret in (new, old):
        assert Webhook(secret).verify(message["body"], facts) == {"n": 1}
    last = client.call("POST", "/api/v1/signing-secrets/rotate", {"overlap_seconds": 0}).body
    assert last["previous_until"] is None
    assert world.signing_secrets(client.tenant) == (last["signing_secret"],)


def test_tasks_are_spread_by_the_request_or_by_the_tenants_default_and_the_answer_tells_it(
    client: Client, operator: Client
) -> None:
    at = (datetime.now(UTC) + timedelta(days=100)).replace(microsecond=0)

    def moved(**fields: Any) -> timedelta:
        answer = client.register(run_at=at.isoformat(), **fields)
        assert answer.status == 201, answer.body
        return datetime.fromisoformat(answer.body["run_at"]) - at

    none, minute, hour = timedelta(0), timedelta(minutes=1), timedelta(hours=1)
    changed = operator.call("PATCH", f"/api/v1/ops/tenants/{client.tenant}", {"spread_seconds": 3600})
    assert changed.body["spread_seconds"] == 3600
    assert none < moved(spread_seconds=60) < minute
    assert none < moved(key="one") == moved(key="one") < hour
    assert moved(spread_seconds=0) == none
    assert client.register(spread_seconds=3601).status == 422
    assert client.register(delay_seconds=None, cron="0 0 * * *", spread_seconds=5).status == 422
