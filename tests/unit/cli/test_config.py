"""`postdate config show` records what happened to the last changes, and shows the parameters in any case."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from cli.commands import config
from cli.failure import Failure
from infra.environments import PROD
from tests.unit.cli.test_parameter_events import Recorder
from tests.unit.cli.test_parameter_store import AppConfig


class Lambda(Recorder):
    def invoke(self, *, FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: N803 - boto3's names
        assert FunctionName == PROD.named("record")
        return super().invoke(FunctionName="postdate-local-record", Payload=Payload)


@pytest.fixture
def appconfig(monkeypatch: pytest.MonkeyPatch) -> AppConfig:
    return AppConfig()


@pytest.fixture
def recorder() -> Lambda:
    return Lambda()


@pytest.fixture(autouse=True)
def on_aws(monkeypatch: pytest.MonkeyPatch, appconfig: AppConfig, recorder: Lambda) -> None:
    @contextmanager
    def clients(environment: Any, port: int) -> Iterator[Any]:
        yield lambda service: recorder if service == "lambda" else appconfig

    monkeypatch.setattr(config, "clients", clients)


def run(*words: str) -> dict[str, Any]:
    parser = argparse.ArgumentParser()
    config.arguments(parser)
    return config.run(parser.parse_args([*words, "--env", "prod"]))


def test_a_look_records_that_an_alarm_took_a_change_back(appconfig: AppConfig, recorder: Lambda) -> None:
    run("set", "registering.batch_max=50", "--reason", "busy", "--yes")
    assert [event.sequence for event in recorder.events.values()] == [1]
    appconfig.take_back(1, "CLOUDWATCH_ALARM")
    run("show")
    run("show")
    went, came = recorder.events.values()
    assert (went.sequence, came.sequence, came.actor.id) == (1, 2, "cloudwatch_alarm")
    assert came.data["before"] == {"registering.batch_max": 50}


def test_a_look_shows_the_parameters_although_nothing_can_be_recorded(
    recorder: Lambda, capsys: pytest.CaptureFixture[str]
) -> None:
    run("set", "registering.batch_max=50", "--reason", "busy", "--yes")
    recorder.fails = EndpointConnectionError(endpoint_url="x")
    shown = run("show")
    assert shown["parameters"]["registering.batch_max"]["value"] == 50
    assert "could not be recorded as events" in capsys.readouterr().err


def test_a_change_that_was_taken_back_is_refused_before_a_person_is_asked(appconfig: AppConfig) -> None:
    run("set", "registering.batch_max=50", "--reason", "busy", "--yes")
    appconfig.take_back(1, "CLOUDWATCH_ALARM")
    for more in ([], ["--dry-run"]):
        with pytest.raises(Failure, match="was taken back at"):
            run("rollback", "--reason", "wrong", "--yes", *more)
