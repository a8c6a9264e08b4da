"""Changes of parameters that are taken back, once and again, on an AppConfig in memory."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest

from cli.failure import Failure
from cli.parameter_store import ParameterStore
from infra.environments import PROD

BEGAN: Final = datetime(2026, 11, 18, 10, 5, tzinfo=UTC)
BAD: Final = {"registering": {"batch_max": 1}}


class AppConfig:
    """One environment. A page has two deployments; each deployment is COMPLETE at once, unless it is `staged`."""

    def __init__(self) -> None:
        self.versions: list[dict[str, Any]] = []
        self.deployments: list[dict[str, Any]] = []
        self.stopped: list[int] = []
        self.state = "COMPLETE"

    def __call__(self, service: str) -> "AppConfig":
        assert service in ("appconfig", "sts")
        return self

    def get_caller_identity(self) -> dict[str, str]:
        return {"Arn": "arn:aws:iam::123456789012:user/ann"}

    def list_applications(self) -> dict[str, Any]:
        return {"Items": [{"Id": "app", "Name": PROD.named("parameters")}]}

    def list_environments(self, **asked: Any) -> dict[str, Any]:
        return {"Items": [{"Id": "stage", "Name": "prod"}]}

    def list_configuration_profiles(self, **asked: Any) -> dict[str, Any]:
        return {"Items": [{"Id": "profile", "Name": "parameters"}]}

    def list_deployment_strategies(self, **asked: Any) -> dict[str, Any]:
        return {"Items": [{"Id": name, "Name": PROD.named(name)} for name in ("staged", "at-once")]}

    def create_hosted_configuration_version(self, **given: Any) -> dict[str, Any]:
        self.versions.append(given)
        return {"VersionNumber": len(self.versions)}

    def get_hosted_configuration_version(self, **asked: Any) -> dict[str, Any]:
        return {"Content": io.BytesIO(self.versions[asked["VersionNumber"] - 1]["Content"])}

    def start_deployment(self, **given: Any) -> dict[str, Any]:
        number, version = len(self.deployments) + 1, given["ConfigurationVersion"]
        label = self.versions[int(version) - 1].get("VersionLabel")
        made = {
            "DeploymentNumber": number,
            "State": self.state,
            "ConfigurationVersion": version,
            "PercentageComplete": 100.0,
            "Description": given["Description"],
            "StartedAt": BEGAN + timedelta(minutes=number),
            "EventLog": [],
        }
        self.deployments.append(made if label is None else made | {"VersionLabel": label})
        return made

    def stop_deployment(self, **asked: Any) -> None:
        assert asked["AllowRevert"]
        self.stopped.append(asked["DeploymentNumber"])
        self.take_back(asked["DeploymentNumber"], "USER")

    def take_back(self, number: int, by: str) -> None:
        event = {"EventType": "ROLLBACK_STARTED", "TriggeredBy": by, "OccurredAt": BEGAN + timedelta(hours=1)}
        self.deployments[number - 1] |= {"State": "ROLLED_BACK", "EventLog": [event]}

    def get_deployment(self, **asked: Any) -> dict[str, Any]:
        return self.deployments[asked["DeploymentNumber"] - 1]

    def list_deployments(self, **asked: Any) -> dict[str, Any]:
        begin = int(asked.get("NextToken", 0))
        end = begin + min(2, asked["MaxResults"]) if "NextToken" in asked or asked["MaxResults"] == 50 else 20
        items = self.deployments[::-1][begin:end]
        more = {"NextToken": str(end)} if end < len(self.deployments) and asked["MaxResults"] == 50 else {}
        return {"Items": items, **more}

    @property
    def counts(self) -> dict[str, Any]:
        """The document that counts."""
        served = [each for each in self.deployments if each["State"] != "ROLLED_BACK"]
        found: dict[str, Any] = json.loads(
            self.versions[int(served[-1]["ConfigurationVersion"]) - 1]["Content"]
        )
        return found


@pytest.fixture
def appconfig() -> AppConfig:
    return AppConfig()


@pytest.fixture
def store(appconfig: AppConfig) -> ParameterStore:
    return ParameterStore(PROD, appconfig)


def batches(most: int) -> dict[str, Any]:
    return {"registering": {"batch_max": most}}


def deploy(store: ParameterStore, *most: int) -> None:
    for each in most:
        store.deploy(batches(each), why="more", at_once=True)


def test_a_roll_back_that_is_repeated_goes_further_back_and_never_forward(
    store: ParameterStore, appconfig: AppConfig
) -> None:
    deploy(store, 10, 20, 30)
    for expected in (20, 10):
        assert store.before() == batches(expected)
        store.roll_back(why="wrong")
        assert appconfig.counts == batches(expected)


def test_a_change_after_a_roll_back_is_taken_back_to_what_counted_before_it(
    store: ParameterStore, appconfig: AppConfig
) -> None:
    """The document that was rolled back counted last but one, and is never what to return to."""
    deploy(store, 10, 20)
    store.deploy(BAD, why="slow", at_once=True)
    store.roll_back(why="wrong")
    deploy(store, 40)
    assert store.before() == batches(20)
    store.roll_back(why="wrong")
    assert appconfig.counts == batches(20)


def test_a_comparison_shows_what_the_last_deployment_changed(store: ParameterStore) -> None:
    deploy(store, 10, 20, 30)
    store.roll_back(why="wrong")
    assert (store.replaced(), store.deployed()[1]) == (batches(30), batches(20))


@pytest.mark.parametrize(("by", "named"), [("CLOUDWATCH_ALARM", "cloudwatch_alarm"), ("USER", "user")])
def test_what_was_taken_back_is_not_taken_back_again(
    by: str, named: str, store: ParameterStore, appconfig: AppConfig
) -> None:
    deploy(store, 10, 20, 30)
    appconfig.take_back(3, by)
    expected = f"Deployment 3 was taken back at 2026-11-18 11:05:00\\+00:00 by {named}"
    for call in (store.before, lambda: store.roll_back(why="wrong")):
        with pytest.raises(Failure, match=expected):
            call()
    assert (appconfig.counts, len(appconfig.deployments)) == (batches(20), 3)


def test_a_deployment_under_way_is_stopped_and_no_other_is_begun(
    store: ParameterStore, appconfig: AppConfig
) -> None:
    deploy(store, 10)
    appconfig.state = "BAKING"
    deploy(store, 20)
    assert store.before() == batches(10)
    assert store.roll_back(why="wrong").taken_back_by == "user"
    assert (appconfig.stopped, appconfig.counts) == ([2], batches(10))


@pytest.mark.parametrize("earlier", [(10,), ()], ids=["to an earlier document", "to the defaults"])
def test_a_roll_back_that_is_under_way_is_not_stopped(
    earlier: tuple[int, ...], store: ParameterStore, appconfig: AppConfig
) -> None:
    deploy(store, *earlier)
    store.deploy(BAD, why="slow", at_once=True)
    appconfig.state = "BAKING"
    store.roll_back(why="wrong")
    for call in (store.before, lambda: store.roll_back(why="wrong")):
        with pytest.raises(Failure, match="that change would count again"):
            call()
    assert (appconfig.stopped, appconfig.counts == BAD) == ([], False)


def test_the_first_change_is_taken_back_to_the_defaults_and_stays_so(
    store: ParameterStore, appconfig: AppConfig
) -> None:
    store.deploy(BAD, why="slow", at_once=True)
    assert store.before() == {}
    store.roll_back(why="wrong")
    assert appconfig.counts == {}
    with pytest.raises(Failure, match="The defaults count"):
        store.roll_back(why="wrong")
    deploy(store, 10)
    assert store.before() == {}
    store.roll_back(why="wrong")
    assert appconfig.counts == {}


@pytest.mark.parametrize("earlier", [(10,), ()], ids=["an earlier document", "the defaults"])
def test_a_roll_back_that_an_alarm_undid_is_begun_again(
    earlier: tuple[int, ...], store: ParameterStore, appconfig: AppConfig
) -> None:
    """The alarm that the change caused still fires when the roll-back begins."""
    deploy(store, *earlier)
    store.deploy(BAD, why="slow", at_once=True)
    undone = store.roll_back(why="wrong")
    appconfig.take_back(undone.number, "CLOUDWATCH_ALARM")
    assert appconfig.counts == BAD
    store.roll_back(why="wrong")
    assert appconfig.counts == (batches(*earlier) if earlier else {})
    labels = [each["VersionLabel"] for each in appconfig.versions if "VersionLabel" in each]
    assert len(labels) == len(set(labels))


def test_defaults_that_a_person_set_are_a_change_like_others(
    store: ParameterStore, appconfig: AppConfig
) -> None:
    deploy(store, 10)
    store.deploy({}, why="usual", at_once=True)
    store.roll_back(why="not yet")
    assert appconfig.counts == batches(10)


def test_nothing_is_taken_back_before_the_first_change(store: ParameterStore) -> None:
    with pytest.raises(Failure, match="Nothing was ever deployed"):
        store.before()
