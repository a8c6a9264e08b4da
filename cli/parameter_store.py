"""The document of parameters of one environment, in AppConfig: what is deployed, and what goes out next."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from botocore.exceptions import ClientError

from cli.failure import Failure, NotReady
from cli.parameters import checked
from infra.environment import Environment

STAGED: Final = "staged"
AT_ONCE: Final = "at-once"
_UNDER_WAY: Final = frozenset({"BAKING", "DEPLOYING", "VALIDATING", "ROLLING_BACK"})
# AppConfig serves the documents of these deployments.
_SERVED: Final = frozenset({"BAKING", "COMPLETE", "DEPLOYING"})
_TAKEN_BACK: Final = frozenset({"ROLLING_BACK", "ROLLED_BACK", "REVERTED"})
# The label of a version that a roll-back made because no document was before the first one.
_DEFAULTS: Final = "defaults-before-"
_PAGE: Final = 50
_TAKES_BACK: Final = ("ROLLBACK_STARTED", "REVERT_COMPLETED")
_REASON_MAX: Final = 900


@dataclass(frozen=True, kw_only=True, slots=True)
class Deployment:
    number: int
    # COMPLETE, ROLLED_BACK, or a state on the way to them.
    state: str
    # The number of the document's version.
    version: str
    # The share of the copies that get it.
    percent: float
    # The author and the reason.
    why: str
    began_at: str
    # The instant at which it was taken back, and by whom: `user`, `cloudwatch_alarm`. None while it stands.
    taken_back_at: str | None = None
    taken_back_by: str = ""


class ParameterStore:
    def __init__(self, environment: Environment, client: Callable[[str], Any]) -> None:
        self._environment = environment
        self._appconfig = client("appconfig")
        self._sts = client("sts")

    def deployed(self) -> tuple[Deployment | None, dict[str, Any]]:
        """The newest deployment that was not taken back, and its document; no document means the defaults."""
        newest = next((each for each in self.history() if each.state in _SERVED), None)
        return newest, {} if newest is None else self.document(newest.version)

    def replaced(self) -> dict[str, Any]:
        """The document that the newest one replaced; empty for the defaults."""
        served = [each for each in self.history() if each.state in _SERVED]
        other = next((each for each in served[1:] if each.version != served[0].version), None)
        return {} if other is None else self.document(other.version)

    def before(self) -> dict[str, Any]:
        """The document that a roll-back puts back; empty for the defaults. Raises Failure as `roll_back` does."""
        *_, version = self._way_back()
        return {} if version is None else self.document(version)

    def history(self, most: int = 20) -> list[Deployment]:
        """The newest first."""
        found = self._appconfig.list_deployments(**self._stage, MaxResults=most)["Items"]
        numbers = sorted((each["DeploymentNumber"] for each in found), reverse=True)
        return [self._deployment(number) for number in numbers]

    def document(self, version: str) -> dict[str, Any]:
        answer = self._appconfig.get_hosted_configuration_version(**self._profile, VersionNumber=int(version))
        found: dict[str, Any] = json.loads(answer["Content"].read())
        return found

    def deploy(self, document: Mapping[str, Any], *, why: str, at_once: bool) -> Deployment:
        """Checks the document, stores it as a version and begins its deployment. Raises Failure."""
        return self._start(self._stored(document), why, at_once)

    def roll_back(self, *, why: str) -> Deployment:
        """Stops the deployment that is under way, which takes it back; else deploys the document before the newest one
        again, at once. Raises Failure if there is none, and if the newest one was taken back already: an older change
        would be undone instead of it."""
        newest, counting, version = self._way_back()
        if newest["State"] in _UNDER_WAY:
            # Without AllowRevert AppConfig refuses to stop a deployment that all copies have and that is still watched.
            self._appconfig.stop_deployment(
                **self._stage, DeploymentNumber=newest["DeploymentNumber"], AllowRevert=True
            )
            return self._deployment(newest["DeploymentNumber"])
        return self._start(version or self._defaults_before(counting), why, at_once=True)

    def _way_back(self) -> tuple[Mapping[str, Any], str, str | None]:
        """The newest deployment, the version that counts, and the version before that; None for the defaults."""
        found = self._deployments()
        if not found:
            raise Failure("Nothing was ever deployed, so there is nothing to take back.")
        newest, *earlier = found
        number, state = newest["DeploymentNumber"], newest["State"]
        takes_back = _is_defaults(newest) or newest["ConfigurationVersion"] in _standing(earlier)
        if takes_back and state in _UNDER_WAY:
            raise Failure(
                f"Deployment {number} takes a change back and is {state}: without it, that change would count again. "
                "Wait until it has ended."
            )
        # An alarm that the change caused may take back what takes the change back. That is begun again.
        if state in _TAKEN_BACK and not takes_back:
            told = self._deployment(number)
            raise Failure(
                f"Deployment {number} was taken back at {told.taken_back_at} by {told.taken_back_by}, and the document "
                "before it counts. To undo an older change, set its values: postdate config set"
            )
        counting, *before = [*reversed(_standing(found)), None]
        if counting is None or any(
            _is_defaults(each) and each["ConfigurationVersion"] == counting for each in found
        ):
            raise Failure("The defaults count, and no document was before them.")
        return newest, counting, before[0]

    def _defaults_before(self, version: str) -> str:
        """The version with the defaults that takes back this first one. A label is given once."""
        label = f"{_DEFAULTS}{version}"
        made = (each for each in self._deployments() if each.get("VersionLabel") == label)
        known = next(made, None)
        return self._stored({}, VersionLabel=label) if known is None else str(known["ConfigurationVersion"])

    def _deployments(self) -> list[dict[str, Any]]:
        """All deployments as AppConfig lists them, the newest first."""
        found: list[dict[str, Any]] = []
        page: dict[str, Any] = {"NextToken": None}
        while "NextToken" in page:
            asked = {"NextToken": page["NextToken"]} if page["NextToken"] else {}
            page = self._appconfig.list_deployments(**self._stage, MaxResults=_PAGE, **asked)
            found += page["Items"]
        return sorted(found, key=lambda each: -int(each["DeploymentNumber"]))

    def _stored(self, document: Mapping[str, Any], **more: str) -> str:
        """The number of a new version with this document. Raises Failure for a document that is not valid."""
        text = json.dumps(document, indent=2)
        checked(text)
        made = self._appconfig.create_hosted_configuration_version(
            **self._profile, Content=text.encode(), ContentType="application/json", **more
        )
        return str(made["VersionNumber"])

    def _start(self, version: str, why: str, at_once: bool) -> Deployment:
        try:
            started = self._appconfig.start_deployment(
                **self._stage,
                ConfigurationProfileId=self._profile["ConfigurationProfileId"],
                ConfigurationVersion=version,
                DeploymentStrategyId=self._strategy(AT_ONCE if at_once else STAGED),
                Description=f"{self.author}: {why}"[:_REASON_MAX],
            )
        except ClientError as error:
            told = error.response["Error"]
            raise Failure(
                f"The parameters were not deployed: {told.get('Message') or told['Code']}"
            ) from error
        return self._deployment(started["DeploymentNumber"])

    def _deployment(self, number: int) -> Deployment:
        told = self._appconfig.get_deployment(**self._stage, DeploymentNumber=number)
        log = told.get("EventLog", ())
        back = next((each for each in log if each["EventType"] in _TAKES_BACK), None)
        return Deployment(
            number=number,
            state=told["State"],
            version=told["ConfigurationVersion"],
            percent=told["PercentageComplete"],
            why=told.get("Description", ""),
            began_at=str(told["StartedAt"]),
            taken_back_at=None if back is None else str(back["OccurredAt"]),
            taken_back_by="" if back is None else back["TriggeredBy"].lower(),
        )

    @cached_property
    def author(self) -> str:
        """The identity of the caller."""
        return str(self._sts.get_caller_identity()["Arn"]).rpartition(":")[2]

    @cached_property
    def _application(self) -> str:
        return _named(
            self._appconfig.list_applications()["Items"],
            self._environment.named("parameters"),
            self._environment,
        )

    @cached_property
    def _stage(self) -> dict[str, str]:
        stages = self._appconfig.list_environments(ApplicationId=self._application)["Items"]
        return {
            "ApplicationId": self._application,
            "EnvironmentId": _named(stages, self._environment.name, self._environment),
        }

    @cached_property
    def _profile(self) -> dict[str, str]:
        profiles = self._appconfig.list_configuration_profiles(ApplicationId=self._application)["Items"]
        return {
            "ApplicationId": self._application,
            "ConfigurationProfileId": _named(profiles, "parameters", self._environment),
        }

    def _strategy(self, name: str) -> str:
        strategies = self._appconfig.list_deployment_strategies(MaxResults=50)["Items"]
        return _named(strategies, self._environment.named(name), self._environment)


def _standing(newest_first: list[dict[str, Any]]) -> list[str]:
    """The versions whose changes count, the oldest first. A deployment of an older version takes back all versions
    after it."""
    found: list[str] = []
    for each in reversed(newest_first):
        if each["State"] in _TAKEN_BACK:
            continue
        version = str(each["ConfigurationVersion"])
        if _is_defaults(each):
            found.clear()
        while found and int(found[-1]) >= int(version):
            found.pop()
        found.append(version)
    return found


def _is_defaults(deployment: Mapping[str, Any]) -> bool:
    return str(deployment.get("VersionLabel", "")).startswith(_DEFAULTS)


def _named(found: list[dict[str, Any]], name: str, environment: Environment) -> str:
    for each in found:
        if each["Name"] == name:
            return str(each["Id"])
    raise NotReady(
        f"There is no {name} in AppConfig: deploy {environment.name} first, with make up or make deploy."
    )
