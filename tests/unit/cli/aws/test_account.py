"""One line says what keeps the command line from an account: credentials, region, network, stack."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.aws.account import account
from cli.aws.reach import reaching
from cli.failure import NotReady
from cli.main import main
from postdate.stores.tenants_dynamo import DynamoTenants
from tests.unit.cli.aws.answers import ACCOUNT, CREDENTIALS, REGION, Aws, answering


@pytest.fixture(autouse=True)
def nothing_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def given(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port without a listener: the test holds it and does not listen."""
    with socket.socket() as kept:
        kept.bind(("127.0.0.1", 0))
        yield kept.getsockname()[1]


def refusal() -> str:
    with pytest.raises(NotReady) as refused:
        account()
    assert "\n" not in str(refused.value)
    assert refused.value.status == 2
    return str(refused.value)


def test_a_refusal_names_the_missing_settings_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    both = refusal()
    assert "credentials" in both
    assert "a region" in both
    given(monkeypatch, {"AWS_REGION": REGION})
    assert "a region" not in refusal()
    given(monkeypatch, CREDENTIALS)
    monkeypatch.delenv("AWS_REGION")
    assert "credentials" not in refusal()


def test_a_profile_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, {"AWS_PROFILE": "nobody", "AWS_REGION": REGION})
    assert "nobody" in refusal()


def test_half_of_a_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_REGION": REGION})
    assert "AWS_SECRET_ACCESS_KEY" in refusal()


def test_without_a_network_that_is_said(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    given(monkeypatch, Aws().environment(f"http://127.0.0.1:{closed_port}"))
    assert "is there a network?" in refusal()


def test_credentials_that_aws_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(refused="ExpiredToken")
    with answering(aws) as url:
        given(monkeypatch, aws.environment(url))
        assert "ExpiredToken" in refusal()


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_either_variable_names_the_region(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    aws = Aws()
    with answering(aws) as url:
        given(monkeypatch, {**CREDENTIALS, variable: REGION, "AWS_ENDPOINT_URL": url})
        assert str(account()) == f"account {ACCOUNT} in {REGION}"


def test_an_environment_without_a_stack_is_told_from_one_without_credentials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    aws = Aws()
    with answering(aws) as url:
        given(monkeypatch, aws.environment(url))
        with pytest.raises(NotReady) as refused, reaching("dev"):
            DynamoTenants(table="postdate-dev-tenants").get("acme")
    told = f"There is no stack of dev in account {ACCOUNT} in {REGION}: `make deploy ENV=dev` makes it."
    assert str(refused.value) == told


@pytest.mark.parametrize(
    "command",
    [
        ["tenant", "acme", "--env", "dev"],
        ["operator", "--env", "dev", "--scope", "tasks:write"],
        ["internal-token", "--env", "dev"],
    ],
    ids=lambda command: command[0],
)
def test_a_command_tells_it_in_one_line_and_by_its_status(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("AWS needs a region")
    assert len(told.err.splitlines()) == 1
