"""Parameters in each function that has a limit or a flag: a change reaches it, and an outage changes nothing."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from cli.parameter_store import ParameterStore
from functions.api.wiring import wired as api
from functions.operate import handler as operate
from functions.reconcile import handler as reconcile
from functions.record import handler as record
from functions.run_tasks import wiring as run_tasks
from functions.settle import handler as settle
from functions.sweep import handler as sweep
from postdate.domain import instants
from postdate.domain.errors import NotFound
from postdate.domain.limits import PASSES_MAX
from postdate.runtime.parameters import CurrentParameters
from tests.boundary import Boundary, unreachable
from tests.integration.conftest import forget
from tests.integration.money import balances, calls
from tests.integration.stores import Stores
from tests.integration.test_events import Stream, recorded
from tests.integration.test_operations import asked, dead, machine  # noqa: F401
from tests.integration.test_parameters import MINUTE, QUESTIONS, Ahead, sections, store  # noqa: F401
from tests.integration.world import Client, Context, World

LEAST: Final = 50
# One parameter of each function, with a value that is not its default.
CHANGED: Final = {
    "registering": {"batch_max": 7},
    "task_retries": {"attempts_max": 3},
    "payment_retries": {"attempts_max": 7},
    "sweeping": {"passes_max": LEAST},
    "operating": {"items_a_second_max": 2},
    "reconciling": {"segments_max": 3},
    "flags": {"bus": {"percent": 20}},
}


def operated() -> None:
    with suppress(NotFound):
        operate.handler({"operation_id": "op_unknown", "run": 1}, Context())


Called = Callable[[World, Client], object]
FUNCTIONS: Final[dict[str, tuple[Callable[[], Any], Called]]] = {
    "api": (api, lambda world, client: client.get("/api/v1/limits")),
    "run_tasks": (run_tasks.wired, lambda world, client: world.run([])),
    "settle": (settle.wired, lambda world, client: world.settle([])),
    "sweep": (sweep.wired, lambda world, client: world.sweep()),
    "record": (record.wired, lambda world, client: recorded([])),
    "operate": (operate.wired, lambda world, client: operated()),
    "reconcile": (reconcile.wired, lambda world, client: reconcile.handler({"action": "give_up"}, Context())),
}


def parameters(function: str) -> CurrentParameters:
    found: CurrentParameters = FUNCTIONS[function][0]().parameters
    return found


def a_minute_later(functions: Iterable[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = Ahead()
    ahead.by = MINUTE
    for function in functions:
        monkeypatch.setattr(parameters(function), "_clock", ahead)


def written(values: Any, document: Any) -> Any:
    """The part of the values that the document names."""
    if not isinstance(document, dict):
        return values
    return {name: written(getattr(values, name), part) for name, part in document.items()}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_change_reaches_the_function_within_a_minute_without_a_deployment(
    world: World,
    store: ParameterStore,  # noqa: F811
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
) -> None:
    call = FUNCTIONS[function][1]
    call(world, client)
    before = written(parameters(function).values, CHANGED)
    sections(store, **CHANGED)
    call(world, client)
    assert written(parameters(function).values, CHANGED) == before, "its reading is young"
    a_minute_later([function], monkeypatch)
    call(world, client)
    assert written(parameters(function).values, CHANGED) == CHANGED


@pytest.mark.parametrize("most", [LEAST, PASSES_MAX])
def test_a_wake_up_of_the_sweep_makes_no_more_passes_than_operators_want(
    world: World,
    stores: Stores,
    store: ParameterStore,  # noqa: F811
    boundary: Boundary,
    most: int,
) -> None:
    """A first wake-up looks an hour back, and that is more than 50 passes."""
    sections(store, sweeping={"passes_max": most})
    forget()
    boundary.clear()
    world.sweep({"kind": "tick"})
    minute = instants.minute_of(datetime.now(UTC))
    made = len(list(stores.passes.between(minute - 120, minute + 10)))
    handed_out = sum('"sweep"' in asked["MessageBody"] for asked in boundary.asked("SendMessage"))
    assert made + handed_out >= LEAST
    assert (made + handed_out == LEAST) is (most == LEAST)


def test_nothing_changes_while_appconfig_is_down_from_the_start_to_the_end(
    world: World,
    stores: Stores,
    store: ParameterStore,  # noqa: F811
    machine: Any,  # noqa: F811
    client: Client,
    boundary: Boundary,
) -> None:
    """Each function starts in the outage, with a document out that it would have to obey."""
    sections(
        store,
        registering={"batch_max": 1},
        task_retries={"attempts_max": 1},
        sweeping={"passes_max": 50},
    )
    boundary.fail(QUESTIONS, *[unreachable] * 10_000)
    forget()
    stream = Stream(world, client)
    client.accounts(alice=100, bob=0)
    tasks = [{"delay_seconds": 0, "target": client.target, "payload": n} for n in range(5)]
    results = client.call("POST", "/api/v1/tasks/batch", {"tasks": tasks}).body["results"]
    payment = client.pay(key="a", delay_seconds=1).body["payment_id"]
    assert world.sweep({"kind": "tick"}) == []
    assert world.run(world.received(world.queues["tasks"], tenant=client.tenant)) == []
    time.sleep(1.05)
    assert world.settle(calls(world, client)) == []
    assert recorded(stream.records()) == []
    done = {client.get(f"/api/v1/tasks/{each['task']['task_id']}").body["status"] for each in results}
    assert (done, client.get(f"/api/v1/payments/{payment}").body["status"]) == ({"SUCCEEDED"}, "COMPLETED")
    assert balances(client, "alice", "bob") == [(90, 0), (10, 0)]
    assert client.get("/api/v1/events").body["events"] != []
    ids = dead(world, client, 3)
    planned = client.call("POST", "/api/v1/operations", asked(ids, dry_run=False)).body["operation_id"]
    world.sqs.create_queue(QueueName=client.queue_url.rpartition("/")[2])
    assert operate.handler({"operation_id": planned, "run": 1}, Context())["goes_on"] is True
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    assert operate.handler({"operation_id": planned, "run": 1}, Context())["goes_on"] is False
    assert client.get(f"/api/v1/operations/{planned}").body["done"] == 3
    started = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
    night = reconcile.handler({"action": "plan", "name": "outage", "started_at": started}, Context())
    assert {scan["table"] for scan in night["scans"]} == {"accounts", "payments", "journal"}
    # Each of them asked, was told nothing, and went on with the defaults.
    assert {parameters(function).version for function in FUNCTIONS} == {""}
    assert boundary.faults_left < 10_000
