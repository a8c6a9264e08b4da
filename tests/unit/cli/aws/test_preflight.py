"""Requirements of an environment are checked in the account before a deploy."""

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import boto3
import pytest

from cli.aws.account import Account
from cli.aws.deploy import arguments
from cli.aws.preflight import check
from cli.failure import NotReady
from infra.environment import Environment
from infra.environments import DEV, ENVIRONMENTS, PROD, STAGING
from postdate.domain.instants import minute_of
from tests.unit.cli.aws.answers import ACCOUNT, CREDENTIALS, REGION, Aws, answering

RESERVED_BY_PROD = {PROD.named(name): size.reserved or 0 for name, size in PROD.functions.items()}


def missing(aws: Aws, environment: Environment, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    with answering(aws) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        session = boto3.Session(
            CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"], region_name=REGION
        )
        try:
            check(Account(id=ACCOUNT, region=REGION, session=session), environment)
        except NotReady as refused:
            return str(refused).splitlines()
    return []


@pytest.mark.parametrize(("environment", "quota"), [(DEV, 10), (STAGING, 408), (PROD, 1000)])
def test_an_environment_fits_an_account_that_has_what_it_reserves(
    environment: Environment, quota: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing(Aws(concurrency=quota), environment, monkeypatch) == []
    (line,) = missing(Aws(concurrency=quota - 1), environment, monkeypatch)
    assert f"ask for {quota} of the quota " in line
    assert "(L-B99A9384)" in line


def test_concurrency_that_is_deployed_already_is_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing(Aws(reserved=RESERVED_BY_PROD), PROD, monkeypatch) == []


def test_concurrency_that_other_functions_reserve_is_not_available(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = missing(Aws(reserved={"somebody": 70}), PROD, monkeypatch)
    assert "70 that other functions reserve" in line
    assert "ask for 1070 of the quota" in line


@pytest.mark.parametrize("version", [None, 5])
def test_an_account_has_to_be_bootstrapped(version: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = missing(Aws(bootstrap=version), DEV, monkeypatch)
    assert f"bootstrap aws://{ACCOUNT}/{REGION}" in line


def test_tables_have_the_quota_for_their_warm_throughput(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = missing(Aws(table_writes=40_000), PROD, monkeypatch)
    assert "ask for 100000 of the quota" in line
    assert "(L-AB614373)" in line
    assert missing(Aws(table_writes=40_000), STAGING, monkeypatch) == []


def with_shards(environment: Environment, plan: str) -> Environment:
    return replace(environment, settings=replace(environment.settings, shard_plan=plan))


NOW = minute_of(datetime.now(UTC))


@pytest.mark.parametrize(
    ("deployed", "wanted", "is_refused"),
    [
        ("0=128", "0=128", False),
        ("0=128", f"0=128,{NOW + 70}=256", False),
        ("0=128", f"0=128,{NOW + 70}=1024,{NOW + 71}=128", False),
        ("0=128", f"0=128,{NOW + 50}=1024,{NOW + 51}=128", True),
        ("0=128", f"0=128,{NOW - 5}=256", True),
        ("0=128", "0=256", True),
        (f"0=128,{NOW + 30}=256", "0=128", True),
        (f"0=128,{NOW - 100_000}=256", "0=256", False),
        (f"0=128,{NOW - 1000}=256", "0=256", True),
        (None, "0=256", False),
    ],
)
def test_a_step_of_the_shard_plan_begins_an_hour_ahead_or_later(
    deployed: str | None, wanted: str, is_refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = missing(Aws(shard_plan=deployed), with_shards(PROD, wanted), monkeypatch)
    assert ["`shard_plan` in infra/environments.py differs" in line for line in found] == [True] * is_refused


def test_all_that_is_missing_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(missing(Aws(bootstrap=None, concurrency=10), PROD, monkeypatch)) == 2


def test_a_question_that_may_not_be_asked_stops_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    aws = Aws(denied=frozenset({"GetParameter", "GetAccountSettings"}))
    assert missing(aws, PROD, monkeypatch) == []
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_requests_have_room_beside_the_queues_in_a_new_account() -> None:
    sizes = DEV.functions
    assert not [name for name, size in sizes.items() if size.reserved]
    busy = sum(size.consumers for size in sizes.values())
    assert 10 - busy >= 2 * len([name for name in ("api", "authorize") if not sizes[name].consumers])


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_without_a_terminal_nobody_is_asked_to_approve(name: str) -> None:
    never = ["--require-approval", "never"]
    assert arguments(ENVIRONMENTS[name], first=False, asked=False)[-2:] == never
    assert "--require-approval" not in arguments(ENVIRONMENTS[name], first=False, asked=True)


def test_the_command_tells_it_in_one_line_and_deploys_nothing() -> None:
    aws = Aws(concurrency=10)
    with answering(aws) as url:
        ran = subprocess.run(
            [sys.executable, "-m", "cli.aws.deploy", "prod"],
            env={"PATH": "/usr/bin:/bin", **aws.environment(url)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    assert "ask for 1000 of the quota" in ran.stderr
    assert set(aws.asked) == {
        "GetCallerIdentity",
        "GetParameter",
        "GetAccountSettings",
        "GetFunctionConcurrency",
        "GetFunctionConfiguration",
        "GetServiceQuota",
    }
