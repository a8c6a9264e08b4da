"""Parameters from the command that deploys them to the function that uses them, with AppConfig of the local engine."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.failure import Failure
from cli.parameter_store import ParameterStore
from functions.api.wiring import wired
from functions.run_tasks.wiring import wired as runners
from functions.settle.handler import wired as settlers
from infra.environments import LOCAL
from postdate.domain.rollouts import percentile_of
from postdate.runtime import aws
from postdate.runtime.clock import SystemClock
from tests.boundary import Boundary, refused, unreachable
from tests.integration.conftest import forget
from tests.integration.world import Answer, Client, World

MINUTE = timedelta(seconds=60)
QUESTIONS = ("StartConfigurationSession", "GetLatestConfiguration")


class Ahead(SystemClock):
    """The system's clock, and as much later as it was told."""

    def __init__(self) -> None:
        self.by = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.by


def made(appconfig: Any) -> str:
    """The place of the parameters, as the stack `state` makes it."""
    application = appconfig.create_application(Name=LOCAL.named("parameters"))["Id"]
    stage = appconfig.create_environment(ApplicationId=application, Name=LOCAL.name)["Id"]
    profile = appconfig.create_configuration_profile(
        ApplicationId=application, Name="parameters", LocationUri="hosted"
    )["Id"]
    for name in ("staged", "at-once"):
        appconfig.create_deployment_strategy(
            Name=LOCAL.named(name), DeploymentDurationInMinutes=0, GrowthFactor=100, ReplicateTo="NONE"
        )
    return f"{application}/{stage}/{profile}"


@pytest.fixture
def store(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[ParameterStore]:
    """The functions are wired anew with this place, and as before afterwards."""
    appconfig = aws.client.__wrapped__("appconfig")
    place = made(appconfig)
    monkeypatch.setenv("PARAMETERS", place)
    forget()
    yield ParameterStore(LOCAL, lambda service: aws.client.__wrapped__(service))
    forget()
    appconfig.delete_application(ApplicationId=place.partition("/")[0])
    for each in appconfig.list_deployment_strategies(MaxResults=50)["Items"]:
        if each["Name"].startswith("postdate-"):
            appconfig.delete_deployment_strategy(DeploymentStrategyId=each["Id"])


@pytest.fixture
def later(store: ParameterStore, monkeypatch: pytest.MonkeyPatch) -> Ahead:
    ahead = Ahead()
    for given in (wired(), runners(), settlers()):
        monkeypatch.setattr(given.parameters, "_clock", ahead)
    return ahead


def deploy(store: ParameterStore, **registering: int) -> None:
    store.deploy({"registering": registering}, why="test", at_once=True)


def sections(store: ParameterStore, **given: Any) -> None:
    store.deploy(given, why="test", at_once=True)


def refusal(answer: Answer) -> Any:
    assert (answer.status, answer.body["code"]) == (422, "limit_exceeded"), answer.body
    return answer.body


def batch(client: Client, size: int) -> Any:
    task = {"delay_seconds": 3600, "target": client.target, "payload": {}}
    return client.call("POST", "/api/v1/tasks/batch", {"tasks": [task] * size})


def test_a_limit_that_is_changed_counts_a_minute_later_without_a_deployment(
    store: ParameterStore, later: Ahead, client: Client
) -> None:
    assert batch(client, 3).status == 200
    deploy(store, batch_max=2)
    later.by += MINUTE
    told = refusal(batch(client, 3))
    assert told["errors"] == [
        {"field": "tasks", "message": "has more than 2 entries, the limit of this service at present"}
    ]
    assert batch(client, 2).status == 200
    store.roll_back(why="too few")
    later.by += MINUTE
    assert batch(client, 3).status == 200


def test_the_number_of_days_ahead_counts_for_what_is_new(
    store: ParameterStore, later: Ahead, client: Client
) -> None:
    client.accounts(alice=100, bob=0)
    month = 30 * 24 * 3600
    first = client.pay(key="a", delay_seconds=month)
    task = client.register(delay_seconds=month)
    assert (first.status, task.status) == (201, 201)
    deploy(store, days_ahead_max=7)
    later.by += MINUTE
    assert client.pay(key="a", delay_seconds=month).body == first.body
    too_far = {
        "field": "delay_seconds",
        "message": "is at most 7 days ahead, the limit of this service at present",
    }
    path = f"/api/v1/payments/{first.body['payment_id']}"
    for answer in (
        client.pay(key="b", delay_seconds=month),
        client.register(delay_seconds=month),
        client.call("PATCH", path, {"delay_seconds": month}),
        client.call("PATCH", f"/api/v1/tasks/{task.body['task_id']}", {"delay_seconds": month}),
    ):
        assert refusal(answer)["errors"] == [too_far]
    assert client.pay(key="b", delay_seconds=3600).status == 201


@pytest.mark.parametrize(
    "outage", [unreachable, refused("InternalServerException", 500), refused("AccessDenied")]
)
def test_an_outage_of_appconfig_changes_nothing(
    store: ParameterStore, later: Ahead, client: Client, boundary: Boundary, outage: Any
) -> None:
    deploy(store, batch_max=2)
    later.by += MINUTE
    assert batch(client, 3).status == 422
    deploy(store, batch_max=3)
    boundary.fail(QUESTIONS, *[outage] * 100)
    for _ in range(5):
        later.by += MINUTE
        assert batch(client, 3).status == 422
        assert batch(client, 2).status == 200
    boundary.clear()
    later.by += MINUTE
    assert batch(client, 3).status == 200


def test_a_copy_that_starts_in_an_outage_works_with_the_defaults(
    store: ParameterStore, client: Client, boundary: Boundary
) -> None:
    boundary.fail(QUESTIONS, *[unreachable] * 100)
    forget()
    assert batch(client, 100).status == 200


def test_requests_ask_appconfig_nothing_while_the_reading_is_young(
    store: ParameterStore, later: Ahead, client: Client, boundary: Boundary
) -> None:
    batch(client, 1)
    later.by += MINUTE
    batch(client, 1)
    assert len(boundary.asked("GetLatestConfiguration")) == 2, "at first, and after a minute"
    for _ in range(10):
        assert batch(client, 1).status == 200
    assert len(boundary.asked("GetLatestConfiguration")) == 2
    assert len(boundary.asked("StartConfigurationSession")) == 1


def test_a_bad_document_does_not_go_out(store: ParameterStore) -> None:
    with pytest.raises(Failure, match=r"line 3: registering.batch_max: "):
        deploy(store, batch_max=0)
    assert store.history() == []
    assert store.deployed() == (None, {})


def test_each_change_keeps_its_author_and_reason(store: ParameterStore) -> None:
    deploy(store, batch_max=2)
    deploy(store, batch_max=3)
    newest, document = store.deployed()
    assert newest is not None
    assert document == {"registering": {"batch_max": 3}}
    assert (newest.number, newest.version, newest.state) == (2, "2", "COMPLETE")
    assert newest.why.endswith(": test")
    assert [each.number for each in store.history()] == [2, 1]
    assert store.roll_back(why="worse").version == "1"
    assert store.deployed()[1] == {"registering": {"batch_max": 2}}


@pytest.mark.parametrize(
    ("minutes", "watched", "state"), [(10, 0, "DEPLOYING"), (0, 10, "BAKING")], ids=["on its way", "watched"]
)
def test_a_change_that_is_under_way_is_taken_back(
    store: ParameterStore, minutes: int, watched: int, state: str
) -> None:
    """AppConfig stops a deployment that all copies have and that is watched by its alarms only if it is asked to
    revert it."""
    deploy(store, batch_max=3)
    appconfig = aws.client.__wrapped__("appconfig")
    (staged,) = (
        each["Id"]
        for each in appconfig.list_deployment_strategies(MaxResults=50)["Items"]
        if each["Name"] == LOCAL.named("staged")
    )
    appconfig.update_deployment_strategy(
        DeploymentStrategyId=staged,
        DeploymentDurationInMinutes=minutes,
        FinalBakeTimeInMinutes=watched,
        GrowthFactor=20,
    )
    assert store.deploy({"registering": {"batch_max": 2}}, why="fewer", at_once=False).state == state
    taken = store.roll_back(why="too few")
    assert (taken.number, taken.state) == (2, "ROLLED_BACK")
    newest, document = store.deployed()
    assert newest is not None
    assert (newest.number, document) == (1, {"registering": {"batch_max": 3}})


def test_a_quota_of_a_tier_counts_for_tenants_without_their_own(
    store: ParameterStore, later: Ahead, client: Client
) -> None:
    assert client.get("/api/v1/limits").body["registered"]["limit"] == 10_000
    sections(store, quotas={"standard": 50})
    later.by += MINUTE
    assert client.get("/api/v1/limits").body["registered"]["limit"] == 500


def test_bounds_of_retries_reach_the_workers(
    world: World, store: ParameterStore, later: Ahead, client: Client
) -> None:
    """A queue that does not exist refuses each delivery."""
    world.run([])
    sections(store, task_retries={"attempts_max": 1}, payment_retries={"attempts_max": 7})
    later.by += MINUTE
    task = client.register(target={"type": "webhook", "url": "http://127.0.0.1:9/"})
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    found = client.get(f"/api/v1/tasks/{task.body['task_id']}").body
    assert (found["status"], found["attempts"]) == ("DEAD", 1)
    world.settle([])
    assert settlers().parameters.values.payment_retries.attempts_max == 7


def test_an_experiment_reports_the_outcomes_of_each_arm(
    world: World,
    store: ParameterStore,
    later: Ahead,
    client: Client,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Arm b waits ten times as long before its first retry."""
    experiment = {"percent": 50, "by": "item", "b": {"first_pause_percent": 1000}}
    sections(store, experiments={"task_retries": experiment})
    world.run([])
    later.by += MINUTE
    retry = {"max_attempts": 2, "initial_seconds": 10, "max_seconds": 1000, "jitter": False}
    down = {"type": "webhook", "url": "http://127.0.0.1:9/"}
    ids = [client.register(target=down, retry=retry).body["task_id"] for _ in range(8)]
    world.run([])
    capsys.readouterr()
    world.run(world.received(world.queues["tasks"], tenant=client.tenant))
    arms = Counter[str]()
    for line in capsys.readouterr().out.splitlines():
        if "RetryArm" in line:
            arms += Counter({name: n for name, n in json.loads(line).items() if name.startswith("RetryArm")})
    rules = runners().parameters.values.experiments.task_retries
    expected = Counter(f"RetryArm_{rules.arm(client.tenant, id)}_retried" for id in ids)
    assert arms == expected
    for id in ids:
        task = client.get(f"/api/v1/tasks/{id}").body
        pause = datetime.fromisoformat(task["next_run_at"]) - datetime.now(UTC)
        assert (pause > timedelta(seconds=60)) is (rules.arm(client.tenant, id) == "b")


def test_a_flag_for_a_tenth_of_the_tenants_reports_answers_of_both_kinds(
    world: World,
    store: ParameterStore,
    later: Ahead,
    client: Client,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A tenant without long waits is answered after two seconds."""
    sections(store, flags={"long_waits": {"percent": 10, "on": [client.tenant]}})
    named = (f"wait-{number}" for number in range(100))
    other = world.tenant(next(each for each in named if percentile_of("long_waits", each) >= 10))
    client.get("/api/v1/events")
    later.by += MINUTE
    told, took = Counter[str](), {}
    for each in (client, other):
        began = time.monotonic()
        assert each.get("/api/v1/events", "wait_seconds=4").status == 200
        took[each.tenant] = time.monotonic() - began
        (line,) = (text for text in capsys.readouterr().out.splitlines() if "LongWaits" in text)
        told.update(name for name in json.loads(line) if name.startswith("LongWaits"))
    assert told == {"LongWaits_on_empty": 1, "LongWaits_off_empty": 1}
    assert took[client.tenant] > 3.5
    assert took[other.tenant] < 3
