"""The escalation of tickets in the templates: what starts it, and what it may do."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from infra.environments import DEV, PROD, STAGING
from tests.infra.synthesis import Stacks

WATCHED: Final = (DEV, STAGING, PROD)


@pytest.fixture(params=WATCHED, ids=lambda environment: environment.name)
def watched(request: pytest.FixtureRequest, stacks_of: Callable[[str], Stacks]) -> Stacks:
    return stacks_of(request.param.name)


def of(stacks: Stacks, kind: str) -> dict[str, Any]:
    assert stacks.watch is not None
    return {
        name: resource["Properties"]
        for name, resource in stacks.watch["Resources"].items()
        if resource["Type"] == kind
    }


def test_each_alarm_that_fires_starts_the_machine(watched: Stacks) -> None:
    (rule,) = of(watched, "AWS::Events::Rule").values()
    ((machine, properties),) = of(watched, "AWS::StepFunctions::StateMachine").items()
    assert rule["EventPattern"] == {
        "source": ["aws.cloudwatch"],
        "detail-type": ["CloudWatch Alarm State Change"],
        "account": [{"Ref": "AWS::AccountId"}],
        "detail": {
            "alarmName": [{"prefix": f"postdate-{watched.environment.name}-"}],
            "state": {"value": ["ALARM"]},
        },
    }
    (target,) = rule["Targets"]
    assert target["Arn"] == {"Fn::GetAtt": [machine, "Arn"]}
    assert target["InputTransformer"] == {
        "InputPathsMap": {"alarm": "$.detail.alarmName"},
        "InputTemplate": '{"alarm": <alarm>}',
    }
    assert properties["StateMachineName"] == f"postdate-{watched.environment.name}-escalate"
    assert "${" not in json.dumps(properties["DefinitionString"])


def test_the_roles_of_the_escalation_may_do_this_and_nothing_else(watched: Stacks) -> None:
    topics = {each["TopicName"]: name for name, each in of(watched, "AWS::SNS::Topic").items()}
    page = topics[f"postdate-{watched.environment.name}-page"]
    (machine,) = of(watched, "AWS::StepFunctions::StateMachine")
    found = [
        (statement["Action"], json.dumps(statement["Resource"]))
        for policy in of(watched, "AWS::IAM::Policy").values()
        for statement in policy["PolicyDocument"]["Statement"]
    ]
    looks, pages, starts = sorted(found)
    assert looks[0] == "cloudwatch:DescribeAlarms"
    assert looks[1].count(f":alarm:postdate-{watched.environment.name}-*") == 1
    assert pages == ("sns:Publish", json.dumps({"Ref": page}))
    assert starts == ("states:StartExecution", json.dumps({"Fn::GetAtt": [machine, "Arn"]}))
    assert not [
        each
        for each in of(watched, "AWS::IAM::Role").values()
        if {"ManagedPolicyArns", "Policies"} & each.keys()
    ]


def test_the_accounts_alarms_may_publish_to_both_topics(watched: Stacks) -> None:
    """A policy on a topic takes the place of the one that lets alarms publish."""
    policies = of(watched, "AWS::SNS::TopicPolicy").values()
    allowed = [
        statement
        for policy in policies
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert {each["Resource"]["Ref"] for each in allowed} == set(of(watched, "AWS::SNS::Topic"))
    for each in allowed:
        assert each["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
        assert each["Action"] == "sns:Publish"
        assert each["Condition"] == {"StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}}
