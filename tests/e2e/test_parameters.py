"""Parameters on the deployed stack: changed by command, and taken back by an alarm or by command."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest

from infra.constructs.parameter_store import TAKES_BACK
from infra.environments import LOCAL, PROD
from tests.e2e.conftest import RunningStack, _postdate

PATIENCE_SECONDS: Final = 60
# The window of the slowest alarm that other tests may have caused.
QUIET_SECONDS: Final = 330
ACCOUNTS: Final = ("hurried", "waiting")
# The alarm says nothing of fewer.
LATE_PAYMENTS: Final = 25
ALARM: Final = "payments_late_fast_short"


def config(stack: RunningStack, *command: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(_postdate(stack.place, "config", *command))
    return told


def newest(stack: RunningStack) -> dict[str, Any]:
    found: dict[str, Any] = config(stack, "show")["deployments"][0]
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Store:
    """The environment of the parameters in AppConfig, and the strategy of `postdate config set`."""

    appconfig: Any
    stage: dict[str, str]
    strategy: dict[str, Any]


@pytest.fixture
def store(stack: RunningStack) -> Store:
    appconfig = stack.aws("appconfig")
    (application,) = (
        each["Id"]
        for each in appconfig.list_applications()["Items"]
        if each["Name"] == LOCAL.named("parameters")
    )
    (stage,) = appconfig.list_environments(ApplicationId=application)["Items"]
    (strategy,) = (
        each
        for each in appconfig.list_deployment_strategies(MaxResults=50)["Items"]
        if each["Name"] == LOCAL.named("staged")
    )
    return Store(
        appconfig=appconfig,
        stage={"ApplicationId": application, "EnvironmentId": stage["Id"]},
        strategy=strategy,
    )


@pytest.fixture
def staged(store: Store) -> Iterator[None]:
    """Changes go out step by step, as in prod. The local template deploys at once."""
    as_in_prod = {
        "DeploymentDurationInMinutes": PROD.rollout.minutes,
        "GrowthFactor": PROD.rollout.step_percent,
        "FinalBakeTimeInMinutes": PROD.rollout.watched_minutes,
    }
    id, as_it_was = store.strategy["Id"], {name: store.strategy[name] for name in as_in_prod}
    store.appconfig.update_deployment_strategy(DeploymentStrategyId=id, **as_in_prod)
    yield
    store.appconfig.update_deployment_strategy(DeploymentStrategyId=id, **as_it_was)


@pytest.fixture
def watched(stack: RunningStack, store: Store) -> Iterator[None]:
    """The alarms that the template of prod names watch each change. The local template names none, because an alarm
    that another test causes would take each change back. Such an alarm has to be over first."""
    deadline = time.monotonic() + QUIET_SECONDS
    while firing(stack) & set(TAKES_BACK) and time.monotonic() < deadline:
        time.sleep(5)
    arn = "arn:aws:cloudwatch:us-east-1:000000000000:alarm:"
    monitors = [{"AlarmArn": f"{arn}{LOCAL.named(each)}"} for each in TAKES_BACK]
    store.appconfig.update_environment(**store.stage, Monitors=monitors)
    yield
    store.appconfig.update_environment(**store.stage, Monitors=[])


def firing(stack: RunningStack) -> set[str]:
    """The alarms that fire, with those that tell nobody."""
    told = stack.aws("cloudwatch").describe_alarms(
        AlarmNamePrefix=LOCAL.named(""), AlarmTypes=["MetricAlarm"], StateValue="ALARM", MaxRecords=100
    )["MetricAlarms"]
    return {each["AlarmName"].removeprefix(LOCAL.named("")).replace("-", "_") for each in told}


@contextmanager
def stopped(stack: RunningStack, function: str) -> Iterator[None]:
    """The function takes no messages meanwhile."""
    lambdas = stack.aws("lambda")
    (mapping,) = lambdas.list_event_source_mappings(FunctionName=LOCAL.named(function))["EventSourceMappings"]
    lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    try:
        yield
    finally:
        lambdas.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def pay_late(stack: RunningStack) -> None:
    """Payments that settle some seconds after their instant."""
    client = stack.client(stack.admin_key)
    for name in ACCOUNTS:
        client.post("/api/v1/accounts", {"account_id": name})
    client.post(
        "/api/v1/accounts/hurried/deposits", {"amount": 1_000}, **{"Idempotency-Key": "hurried"}
    ).expect(201)
    began, (payer, payee) = time.time_ns(), ACCOUNTS
    payments = [
        {
            "from_account_id": payer,
            "to_account_id": payee,
            "amount": 1,
            "delay_seconds": 2,
            "idempotency_key": f"hurried-{began}-{number}",
        }
        for number in range(LATE_PAYMENTS)
    ]
    with stopped(stack, "settle"):
        registered = client.post("/api/v1/payments/schedule/batch", {"payments": payments}).expect(200)
        assert all("payment" in each for each in registered["results"])
        time.sleep(5)


def until(stack: RunningStack, state: str) -> dict[str, Any]:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := newest(stack))["state"] != state and time.monotonic() < deadline:
        time.sleep(1)
    return found


@pytest.mark.usefixtures("staged")
def test_a_person_takes_a_staged_change_back(stack: RunningStack) -> None:
    before = config(stack, "show")["document"]
    config(stack, "set", "registering.batch_max=8", "--reason", "fewer writes at once")
    begun = newest(stack)
    assert begun["state"] == "DEPLOYING"
    config(stack, "rollback", "--reason", "not needed any more")
    assert (newest(stack)["number"], newest(stack)["state"]) == (begun["number"], "ROLLED_BACK")
    assert config(stack, "show")["document"] == before


@pytest.mark.usefixtures("staged", "watched")
def test_an_alarm_that_fires_takes_a_staged_change_back(stack: RunningStack) -> None:
    """While a change is rolled out, payments are late. The alarm fires, and the earlier document counts again without a
    command."""
    before = config(stack, "show")["document"]
    config(stack, "set", "registering.batch_max=7", "--reason", "fewer writes at once")
    begun = newest(stack)
    assert begun["state"] == "DEPLOYING"
    assert begun["percent"] < 100
    pay_late(stack)
    taken = until(stack, "ROLLED_BACK")
    assert (taken["number"], taken["state"]) == (begun["number"], "ROLLED_BACK")
    assert config(stack, "show")["document"] == before
    assert ALARM in firing(stack)
