"""Cost of a task: its write units from the request to the stored outcome, indexes included."""

import math
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from postdate.domain.catch_up import CatchUp
from postdate.domain.task import State
from tests.boundary import Boundary
from tests.e2e.receiver import Receiver
from tests.engines import Engines, speaking_to
from tests.integration.chains import chain
from tests.integration.conftest import entered
from tests.integration.meter import METER, Meter
from tests.integration.world import Client, World

HUNDRED_BYTES = {"order": "2026-11-18-000042", "customer": "c-81723", "amount": 1999, "note": "x" * 20}


@pytest.fixture
def world(own_world: World, boundary: Boundary, monkeypatch: pytest.MonkeyPatch) -> World:
    return entered(own_world, monkeypatch)


@pytest.fixture(scope="module")
def started_meter(own_world: World, engine: Engines) -> Iterator[Meter]:
    with speaking_to(engine):
        METER.start(boto3.client("dynamodb"), own_world.tables)
    yield METER
    METER.stop()


@pytest.fixture
def meter(started_meter: Meter, client: Client) -> Meter:
    started_meter.units.clear()
    return started_meter


@pytest.fixture(params=["sqs", "webhook"])
def target(request: pytest.FixtureRequest, client: Client, receiver: Receiver) -> dict[str, Any]:
    if request.param == "sqs":
        return client.target
    return {"type": "webhook", "url": f"{receiver.url}/status/204", "headers": {"X-Shop": "7"}}


def run_to_its_end(world: World, client: Client, **fields: Any) -> None:
    registered = client.register(**fields)
    assert registered.status == 201
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    task = client.get(f"/api/v1/tasks/{registered.body['task_id']}").body
    assert (task["status"], task["attempts"]) == ("SUCCEEDED", 1)


@pytest.mark.parametrize(("key", "units"), [(None, 4), ("order-42", 5)], ids=["without a key", "with a key"])
def test_a_usual_task_takes_four_write_units_and_a_key_one_more(
    world: World, client: Client, meter: Meter, target: dict[str, Any], key: str | None, units: int
) -> None:
    run_to_its_end(world, client, key=key, target=target, payload=HUNDRED_BYTES)
    assert meter.units.total() <= units
    assert meter.units["items"] == 4
    assert meter.units["refused"] == 0


def test_a_run_of_a_recurring_task_takes_five_write_units_with_the_writing_of_the_next(
    world: World, client: Client, meter: Meter
) -> None:
    made = chain(world, client)
    meter.units.clear()
    assert world.run(made.calls()) == []
    assert [run.state for run in made.rows()] == [State.SUCCEEDED, State.PENDING]
    claim, outcome, row, in_the_list_of_its_task, in_the_list_of_all_runs = 1, 1, 1, 1, 1
    assert meter.units == {
        "items": claim + outcome + row + in_the_list_of_its_task + in_the_list_of_all_runs,
        "refused": 0,
    }


def test_a_redrive_takes_one_unit_more_for_its_pointer_and_three_for_its_lists(
    world: World, client: Client, meter: Meter, receiver: Receiver
) -> None:
    target = {"type": "webhook", "url": f"{receiver.url}/status/410"}
    assert client.register(target=target).status == 201
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    (letter,) = world.received(world.queues["tasks-dlq"], tenant=client.tenant)
    meter.units.clear()
    assert world.run([letter]) == []
    claim, outcome, pointer = 1, 1, 1
    out_of_the_dead_into_lingering, back_into_the_dead = 2, 2
    assert meter.units == {
        "items": claim + outcome + pointer + out_of_the_dead_into_lingering + back_into_the_dead,
        "refused": 0,
    }


def test_a_task_that_dies_at_once_takes_one_unit_more_for_its_list(
    world: World, client: Client, meter: Meter, receiver: Receiver
) -> None:
    target = {"type": "webhook", "url": f"{receiver.url}/status/410"}
    assert client.register(target=target).status == 201
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    assert meter.units == {"items": 4 + 1, "refused": 0}


def test_a_task_that_needs_several_attempts_is_put_into_the_list_of_what_lingers_once(
    world: World, client: Client, meter: Meter, receiver: Receiver
) -> None:
    """One unit however many attempts there are, and two when it dies: out of one list and into another."""
    target = {"type": "webhook", "url": f"{receiver.url}/status/500"}
    retry = {"max_attempts": 3, "initial_seconds": 1, "multiplier": 1, "jitter": False}
    assert client.register(target=target, retry=retry).status == 201
    assert meter.units["items"] == 2
    for units in (2 + 1, 2, 2 + 2):
        before = meter.units["items"]
        assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
        assert meter.units["items"] - before == units


def test_a_cancel_takes_one_unit_more_for_its_list(world: World, client: Client, meter: Meter) -> None:
    task = client.register(delay_seconds=600).body
    client.call("DELETE", f"/api/v1/tasks/{task['task_id']}")
    assert meter.units == {"items": 2 + 1 + 1, "refused": 0}


def test_a_run_that_is_caught_up_takes_one_unit_more_for_its_pointer_and_one_for_the_missed(
    world: World, client: Client, meter: Meter
) -> None:
    made = chain(world, client, catch_up=CatchUp.LATEST, days_late=1)
    meter.units.clear()
    assert world.run(made.calls()) == []
    late, caught_up, following = made.rows()
    assert [run.state for run in (late, caught_up, following)] == [State.MISSED, State.PENDING, State.PENDING]
    own, missed, written, pointer = 1, 1, 3, 1
    assert meter.units == {"items": own + missed + written + pointer + written, "refused": 0}


def test_a_rate_whose_place_is_near_takes_one_unit_more_a_batch_and_a_later_place_three_more_a_task(
    world: World, client: Client, meter: Meter
) -> None:
    run_to_its_end(world, client, flow_control={"key": "mail", "rate": 1, "period_seconds": 600})
    assert (meter.units["items"], meter.units["flow"]) == (4, 1)
    later = client.register(flow_control={"key": "mail", "rate": 1, "period_seconds": 600}).body
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    assert (meter.units["items"], meter.units["flow"]) == (4 + 2 + 1 + 1, 2)
    task = client.get(f"/api/v1/tasks/{later['task_id']}").body
    assert (task["status"], task["attempts"]) == ("PENDING", 0)


def test_parallelism_takes_a_unit_to_go_in_and_one_to_leave(
    world: World, client: Client, meter: Meter
) -> None:
    run_to_its_end(world, client, flow_control={"key": "mail", "parallelism": 2})
    assert (meter.units["items"], meter.units["flow"]) == (4, 2)


def test_a_large_payload_is_paid_once_when_it_is_written(
    world: World, client: Client, meter: Meter, target: dict[str, Any]
) -> None:
    payload = "x" * 100 * 1024
    run_to_its_end(world, client, target=target, payload=payload)
    assert meter.units["items"] == 4
    assert meter.units["payloads"] == math.ceil((len(payload) + 100) / 1024)
    assert meter.units.total() == meter.units["items"] + meter.units["payloads"]


def test_a_request_sent_again_with_its_key_costs_its_two_refused_writes(
    world: World, client: Client, meter: Meter
) -> None:
    assert client.register(key="again", delay_seconds=600).status == 201
    assert meter.units == {"items": 2, "idempotency": 1, "refused": 0}
    assert client.register(key="again", delay_seconds=600).status == 201
    assert meter.units == {"items": 2, "idempotency": 1, "refused": 2}


def test_the_meter_sees_what_a_row_and_its_index_cost(world: World, client: Client, meter: Meter) -> None:
    client.register(delay_seconds=600, tags=[f"{place:02}" + "x" * 60 for place in range(10)], name="y" * 100)
    assert meter.units["items"] == 2 + 1
    (task,) = client.get("/api/v1/tasks").body["tasks"]
    client.call("PATCH", f"/api/v1/tasks/{task['task_id']}", {"delay_seconds": 1200})
    assert meter.units["items"] == 3 + 2 * (2 + 1) + 2
