"""Parameters from the command that deploys them to the function that uses them, with AppConfig of the local engine."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from cli.failure import Failure
from cli.parameter_store import ParameterStore
from functions.api.wiring import wired
from infra.environments import LOCAL
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
    monkeypatch.setattr(wired().parameters, "_clock", ahead)
    return ahead


def deploy(store: ParameterStore, **registering: int) -> None:
    store.deploy({"registering": registering}, why="test", at_once=True)


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
