"""The overview through the handlers: what the sweep tallies is what a tenant and an operator are shown."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from functions.api.wiring import wired
from postdate.domain import instants, task_requests
from postdate.domain.slots import item_id
from postdate.domain.task import KIND, Destination, Payload, Template
from postdate.runtime import aws
from postdate.stores.tasks import Written
from tests.boundary import Boundary
from tests.contract.examples import PLAN
from tests.integration.stores import Stores
from tests.integration.world import Client, World

MINUTES = 3


@pytest.fixture
def minute(world: World, client: Client, stores: Stores) -> int:
    """The minute of two tasks of the client's, which is over; the sweep has closed it."""
    due_at = datetime.now(UTC) - timedelta(minutes=MINUTES)
    minute = instants.minute_of(due_at)
    for number in (1, 2):
        unique = client.tenant.encode()[-9:].rjust(9, b"0") + bytes([number])
        task = task_requests.register(
            id=item_id(KIND, PLAN.slot(due_at, unique), unique),
            tenant=client.tenant,
            due_at=instants.whole(due_at),
            now=due_at,
            template=Template(
                destination=Destination(type="sqs", address="nowhere"), payload=Payload(text="1")
            ),
        )
        assert stores.tasks.add([task]) == [Written.DONE]
    assert world.sweep({"kind": "sweep", "minute": minute, "group": 0, "stage": "close"}) == []
    return minute


def test_a_minute_is_shown_to_its_tenant_and_in_the_sum_to_operators(
    world: World, client: Client, minute: int, boundary: Boundary
) -> None:
    other = world.tenant(f"{client.tenant}-other")
    began = instants.start_of(minute).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    boundary.clear()
    own, others, all_of_them = (
        next(each for each in asked.get(path).body["minutes"] if each["minute"] == began)
        for asked, path in (
            (client, "/api/v1/overview"),
            (other, "/api/v1/overview"),
            (Client(tenant="none", scopes="ops", operates=True), "/api/v1/ops/overview"),
        )
    )
    assert own["counted"]
    assert (own["tasks"]["due"], own["tasks"]["done"], own["payments"]["due"]) == (2, 0, 0)
    assert others["tasks"]["due"] == 0
    assert all_of_them["tasks"]["due"] >= 2


def test_the_overview_costs_the_same_requests_however_much_there_is(
    client: Client, minute: int, boundary: Boundary
) -> None:
    boundary.clear()
    client.get("/api/v1/overview")
    lists = 2 * 2  # of tasks and of payments, each with two keys
    assert Counter(call.operation for call in boundary.calls) == {"Query": 4 + lists}
    boundary.clear()
    operator = Client(tenant="none", scopes="ops", operates=True)
    operator.get("/api/v1/ops/overview")
    for read in (*wired().operators.look.depths.values(), wired().operators.look.alarms):
        vars(read)["_known"] = None
    boundary.clear()
    told = operator.call("GET", "/api/v1/ops/overview", headers={"postdate-tenant": ""}).body
    # Breakers that other tests of this world left open are read with one request.
    opened = {"BatchGetItem": 1} if told["destinations"] else {}
    expected = {"Query": 5, "GetItem": 2, "Scan": 1, "GetQueueAttributes": 8, **opened}
    assert Counter(call.operation for call in boundary.calls) == expected
    assert told["alarms"] == []
    boundary.clear()
    operator.call("GET", "/api/v1/ops/overview", headers={"postdate-tenant": ""})
    expected = {"Query": 5, "GetItem": 2, "Scan": 1, **opened}
    assert Counter(call.operation for call in boundary.calls) == expected
    assert {each["queue"] for each in told["queues"]} == {
        *("tasks", "slow", "payments", "ticks"),
        *("tasks-dlq", "payments-dlq", "ticks-dlq", "events-dlq"),
    }


def test_the_age_of_a_queue_is_that_of_cloudwatch(world: World, boundary: Boundary) -> None:
    operator = Client(tenant="none", scopes="ops", operates=True)
    queue = world.queues["tasks-dlq"].rpartition("/")[2]
    wired.cache_clear()
    aws.client("cloudwatch").put_metric_data(
        Namespace="AWS/SQS",
        MetricData=[
            {
                "MetricName": "ApproximateAgeOfOldestMessage",
                "Dimensions": [{"Name": "QueueName", "Value": queue}],
                "Value": 77,
            }
        ],
    )
    queues = {each["queue"]: each for each in operator.get("/api/v1/ops/overview").body["queues"]}
    assert queues["tasks-dlq"]["oldest_seconds"] == 77
    assert queues["slow"]["oldest_seconds"] is None


def test_a_key_without_payments_sees_none_in_the_overview(client: Client, minute: int) -> None:
    reader = Client(tenant=client.tenant, scopes="tasks:read")
    assert {each["payments"] for each in reader.get("/api/v1/overview").body["minutes"]} == {None}


def test_the_overview_of_all_tenants_is_for_operators_alone(client: Client) -> None:
    every = Client(tenant=client.tenant, scopes="ops tasks:read admin")
    assert every.get("/api/v1/ops/overview").status == 403
    assert Client(tenant="none", scopes="tasks:read", operates=True).get("/api/v1/ops/overview").status == 403


def test_the_calendar_shows_what_is_to_come_with_its_sums(client: Client, boundary: Boundary) -> None:
    client.accounts(alice=100, bob=0)
    assert client.register(delay_seconds=1800).status == 201
    for key, delay in (("soon", 1800), ("tomorrow", 30 * 3600)):
        assert client.pay(key=key, amount=20, delay_seconds=delay).status == 201
    boundary.clear()
    told = client.get("/api/v1/overview").body["calendar"]
    assert told["next_hour"] == told["next_day"] == {"tasks": 1, "payments": 1, "amount": 20}
    assert told["next_week"] == {"tasks": 1, "payments": 2, "amount": 40}
    assert sum(each["amount"] for each in told["minutes"]) == 20
    assert len(told["hours"]) == 2
    assert Counter(call.operation for call in boundary.calls)["BatchGetItem"] == 2, "one for each kind"
    reader = Client(tenant=client.tenant, scopes="tasks:read")
    assert reader.get("/api/v1/overview").body["calendar"]["next_week"] == {
        "tasks": 1,
        "payments": 0,
        "amount": 0,
    }
