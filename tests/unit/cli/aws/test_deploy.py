"""The order of a deployment: the account is asked, the stacks are deployed, and what stands is protected."""

import os
import pty
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from cli.aws.account import Account
from cli.aws.deploy import deploy
from cli.aws.mute import TOLD
from cli.failure import Failure, NotReady
from infra.environment import Environment
from infra.environments import DEV, PROD
from infra.watch.table import alarms, composites
from tests.unit.cli.aws.answers import Aws, answering

MADE = "CREATE_COMPLETE"
NEVER_MADE = (None, "ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "REVIEW_IN_PROGRESS")
PROTECTING = {"UpdateTerminationProtection", "UpdateTable"}


class Cdk:
    """The CDK's command line as deploy sees it: notes its arguments, and fails if told to."""

    def __init__(self, aws: Aws, *, leaves: str, fails: bool = False) -> None:
        self._aws, self._leaves, self._fails = aws, leaves, fails
        self.built: list[str] = []
        self.given: list[str] = []
        self.runs: list[list[str]] = []

    def build(self, environment: Environment) -> None:
        self.built.append(environment.platform)

    def run(self, account: Account, given: list[str]) -> None:
        self.given = given
        self.runs.append(given)
        self._aws.stack = self._leaves
        if self._fails:
            raise Failure("The deployment failed.")

    @property
    def is_first(self) -> bool:
        return "first=true" in self.runs[0]


@contextmanager
def deploying(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with answering(aws) as url:
        for name, value in aws.environment(url).items():
            monkeypatch.setenv(name, value)
        yield


@pytest.mark.parametrize("stack", NEVER_MADE)
def test_a_stack_that_was_never_made_is_deployed_without_protection(
    stack: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = Aws(stack=stack)
    cdk = Cdk(aws, leaves=MADE)
    with deploying(aws, monkeypatch):
        deploy(PROD, build=cdk.build, run=cdk.run)
    assert cdk.is_first


def test_the_alarms_that_take_parameters_back_are_named_by_a_second_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first step makes them; an environment of AppConfig cannot name alarms that do not exist."""
    aws = Aws()
    cdk = Cdk(aws, leaves=MADE)
    with deploying(aws, monkeypatch):
        deploy(PROD, build=cdk.build, run=cdk.run)
        deploy(PROD, build=cdk.build, run=cdk.run)
    assert [("first=true" in given, given[1]) for given in cdk.runs] == [
        (True, "--all"),
        (False, "postdate-prod-state"),
        (False, "--all"),
    ]
    assert cdk.runs[1][2] == "--exclusively"


def test_a_stack_that_stands_keeps_its_protection(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(stack=MADE)
    cdk = Cdk(aws, leaves="UPDATE_COMPLETE")
    with deploying(aws, monkeypatch):
        deploy(PROD, build=cdk.build, run=cdk.run)
    assert not cdk.is_first


@pytest.mark.parametrize("fails", [False, True])
def test_the_stack_is_protected_after_a_deployment_whether_it_failed_or_not(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = Aws(stack=MADE, tables=("postdate-prod-items", "postdate-prod-accounts"))
    cdk = Cdk(aws, leaves="UPDATE_ROLLBACK_COMPLETE" if fails else "UPDATE_COMPLETE", fails=fails)
    with deploying(aws, monkeypatch):
        if fails:
            with pytest.raises(Failure, match=r"The deployment failed\."):
                deploy(PROD, build=cdk.build, run=cdk.run)
        else:
            deploy(PROD, build=cdk.build, run=cdk.run)
    protecting = sorted(operation for operation in aws.asked if operation in PROTECTING)
    assert protecting == ["UpdateTable", "UpdateTable", "UpdateTerminationProtection"]


def test_a_first_deployment_that_failed_is_not_protected(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(tables=("postdate-prod-items",))
    cdk = Cdk(aws, leaves="ROLLBACK_COMPLETE", fails=True)
    with deploying(aws, monkeypatch), pytest.raises(Failure):
        deploy(PROD, build=cdk.build, run=cdk.run)
    assert not PROTECTING & set(aws.asked)


def test_nothing_is_built_for_an_account_that_lacks_something(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(bootstrap=None)
    cdk = Cdk(aws, leaves=MADE)
    with deploying(aws, monkeypatch), pytest.raises(NotReady):
        deploy(DEV, build=cdk.build, run=cdk.run)
    assert (cdk.built, cdk.given) == ([], [])


@pytest.mark.parametrize("terminal", [False, True])
def test_approval_is_asked_for_at_a_terminal_and_nowhere_else(
    terminal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = Aws()
    cdk = Cdk(aws, leaves=MADE)
    mine, theirs = pty.openpty() if terminal else os.pipe()
    with deploying(aws, monkeypatch), os.fdopen(theirs if terminal else mine) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        deploy(DEV, build=cdk.build, run=cdk.run)
    os.close(mine if terminal else theirs)
    assert ("--require-approval" in cdk.given) is not terminal


class MutedCdk(Cdk):
    """Also notes which alarms are muted while it deploys."""

    def run(self, account: Account, given: list[str]) -> None:
        self.muted = dict(self._aws.muted)
        super().run(account, given)


def alarmed() -> Aws:
    names = [f"postdate-prod-alarm-{number:03d}" for number in range(130)]
    return Aws(stack=MADE, alarms=(*names, *map(PROD.named, TOLD)))


@pytest.mark.parametrize("fails", [False, True])
def test_alarms_are_muted_while_a_deployment_runs_and_no_longer(
    fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    aws = alarmed()
    cdk = MutedCdk(aws, leaves=MADE, fails=fails)
    with deploying(aws, monkeypatch), suppress(Failure):
        deploy(PROD, build=cdk.build, run=cdk.run)
    targets = [rule["MuteTargets"]["AlarmNames"] for rule in cdk.muted.values()]
    assert [len(names) for names in targets] == [100, 30]
    assert not {*map(PROD.named, TOLD)} & {name for names in targets for name in names}
    assert aws.muted == {}


def test_each_alarm_that_is_never_muted_is_one_of_the_table() -> None:
    names = {each.name for each in (*alarms(PROD), *composites(PROD))}
    assert {*TOLD} <= names
    assert {"reconciliation_differs", "audit_contradicts"} <= {*TOLD}


def test_a_rule_ends_by_itself_if_the_deployment_dies(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = alarmed()
    cdk = MutedCdk(aws, leaves=MADE)
    with deploying(aws, monkeypatch):
        deploy(PROD, build=cdk.build, run=cdk.run)
    for rule in cdk.muted.values():
        schedule = rule["Rule"]["Schedule"]
        assert re.fullmatch(r"at\(\d{4}-\d\d-\d\dT\d\d:\d\d\)", schedule["Expression"])
        assert (schedule["Duration"], schedule["Timezone"]) == ("PT30M", "UTC")


def test_a_deployment_goes_on_where_alarms_may_not_be_muted(monkeypatch: pytest.MonkeyPatch) -> None:
    aws = alarmed()
    aws.denied = frozenset({"PutAlarmMuteRule"})
    cdk = MutedCdk(aws, leaves=MADE)
    with deploying(aws, monkeypatch):
        deploy(PROD, build=cdk.build, run=cdk.run)
    assert cdk.given
    assert cdk.muted == {}
