"""The signal to a service outside of AWS, in the template of an environment that has an address for it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from infra.app import postdate
from infra.environments import PROD
from infra.watch.cost import bill
from tests.infra.synthesis import Stacks, Synthesised, Template, app
from tests.infra.test_rules import violations

URL: Final = "https://signals.example/prod"
SIGNALLING: Final = replace(PROD, heartbeat_url=URL)


@pytest.fixture(scope="module")
def signalling(synthesised: Synthesised) -> Stacks:
    return synthesised("signalling", SIGNALLING)


def of(stacks: Stacks, kind: str) -> dict[str, Any]:
    assert stacks.watch is not None
    return {
        name: resource["Properties"]
        for name, resource in stacks.watch["Resources"].items()
        if resource["Type"] == kind
    }


def rules(stacks: Stacks) -> dict[str, Template]:
    return {each["Name"]: each for each in of(stacks, "AWS::Events::Rule").values()}


def test_each_time_that_the_alarm_fires_the_address_is_called(signalling: Stacks) -> None:
    ((destination, properties),) = of(signalling, "AWS::Events::ApiDestination").items()
    assert (properties["InvocationEndpoint"], properties["HttpMethod"]) == (URL, "POST")
    rule = rules(signalling)["postdate-prod-pulse"]
    assert rule["EventPattern"]["detail"] == {
        "alarmName": ["postdate-prod-pulse"],
        "state": {"value": ["ALARM"]},
    }
    (target,) = rule["Targets"]
    assert target["Arn"] == {"Fn::GetAtt": [destination, "Arn"]}
    assert target["RetryPolicy"] == {"MaximumEventAgeInSeconds": 300, "MaximumRetryAttempts": 3}


def test_the_role_of_the_rule_calls_this_destination_and_nothing_else(signalling: Stacks) -> None:
    (destination,) = of(signalling, "AWS::Events::ApiDestination")
    found = [
        statement
        for policy in of(signalling, "AWS::IAM::Policy").values()
        for statement in policy["PolicyDocument"]["Statement"]
        if "events:InvokeApiDestination" in statement["Action"]
    ]
    assert [(each["Action"], each["Resource"]) for each in found] == [
        ("events:InvokeApiDestination", {"Fn::GetAtt": [destination, "Arn"]})
    ]


def test_the_pulse_tells_no_topic_and_starts_no_escalation(signalling: Stacks) -> None:
    (alarm,) = [
        each
        for each in of(signalling, "AWS::CloudWatch::Alarm").values()
        if each["AlarmName"] == "postdate-prod-pulse"
    ]
    assert "AlarmActions" not in alarm
    (left_out,) = rules(signalling)["postdate-prod-escalate"]["EventPattern"]["resources"]
    assert json.dumps(left_out["anything-but"]).endswith(':alarm:postdate-prod-pulse"]]}]')


def test_an_environment_without_an_address_has_none_of_it(stacks: Stacks) -> None:
    if stacks.watch is not None:
        assert of(stacks, "AWS::Events::ApiDestination") == {}
        assert list(rules(stacks)) == [stacks.environment.named("escalate")]


def test_no_rule_is_broken_by_it(build: Path, tmp_path: Path) -> None:
    checked = app(tmp_path)
    postdate(checked, SIGNALLING, build=build)
    assert violations(checked, tmp_path) == []


def test_a_prod_that_signals_keeps_the_budget_too(signalling: Stacks) -> None:
    assert signalling.watch is not None
    templates = {"watch": signalling.watch, "service": signalling.service}
    assert sum(line.dollars for line in bill(SIGNALLING, templates)) <= 25
