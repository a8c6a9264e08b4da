import json
import re
from collections import defaultdict
from typing import Any

import pytest

from tests.infra.permissions import (
    ALARMS,
    GRANTED,
    GRANTED_BY_ATTRIBUTES,
    GRANTED_BY_KEYS,
    GRANTED_BY_OWNERS,
    GRANTED_IN_TRANSACTIONS,
    METRICS,
    TRACES,
    Grants,
    granted,
)
from tests.infra.synthesis import Stacks

IN_TRANSACTIONS = {"ForAnyValue:StringEquals": {"dynamodb:EnclosingOperation": ["TransactWriteItems"]}}
# The size of all policies within one role, in characters.
IAM_TAKES = 10_240
LONG_ARN = "arn:aws:dynamodb:ap-southeast-1:123456789012:table/postdate-staging-subscriptions"
DELETE = "dynamodb:DeleteItem"
OWNERS = [condition for _, condition in GRANTED_BY_OWNERS.values()]
WRITES = {
    f"dynamodb:{action}"
    for action in (
        *("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem"),
        *("PartiQLInsert", "PartiQLUpdate", "PartiQLDelete"),
    )
}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def statements(stacks: Stacks) -> dict[str, list[dict[str, Any]]]:
    """The statements of each role, by the function that has it, or by what it is for."""
    roles = {
        each["Role"]["Fn::GetAtt"][0]: name
        for name, each in stacks.properties("AWS::Lambda::Function").items()
    } | {reader(stacks): "the reader of payloads"}
    roles |= {
        each["RoleArn"]["Fn::GetAtt"][0]: f"the machine {name}"
        for name, each in stacks.properties("AWS::StepFunctions::StateMachine").items()
    }
    roles |= {
        each["Target"]["RoleArn"]["Fn::GetAtt"][0]: f"the schedule of the machine {machine}"
        for each in stacks.properties("AWS::Scheduler::Schedule").values()
        for machine in ("reconcile", "archive")
        if each["Name"].endswith(f"-{machine}-nightly")
    }
    roles |= {
        id: "the watcher of parameters"
        for id, each in stacks.state["Resources"].items()
        if "appconfig.amazonaws.com" in str(each["Properties"].get("AssumeRolePolicyDocument"))
    }
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for policy in stacks.properties("AWS::IAM::Policy").values():
        for role in policy["Roles"]:
            found[roles.get(role["Ref"], "the schedule")] += policy["PolicyDocument"]["Statement"]
    return found


def reader(stacks: Stacks) -> str:
    """The reader's logical id."""
    roles = stacks.service["Resources"].items()
    return next(id for id, each in roles if "RoleName" in each.get("Properties", {}))


def grants(stacks: Stacks, role: str, *, condition: Any = None) -> Grants:
    """Rights granted under exactly this condition; None for rights without a condition."""
    found: Grants = defaultdict(set)
    for statement in statements(stacks)[role]:
        if statement.get("Condition") == condition:
            for resource in as_list(statement["Resource"]):
                found[stacks.text(resource)] |= set(as_list(statement["Action"]))
    return found


@pytest.mark.parametrize("role", GRANTED)
def test_a_role_may_do_exactly_what_is_written_down(stacks: Stacks, role: str) -> None:
    assert grants(stacks, role) == granted(role, environment=stacks.environment.name)


@pytest.mark.parametrize("role", GRANTED)
def test_a_role_writes_money_in_transactions_and_in_no_other_way(stacks: Stacks, role: str) -> None:
    assert grants(stacks, role, condition=IN_TRANSACTIONS) == GRANTED_IN_TRANSACTIONS.get(role, {})
    freely = grants(stacks, role)
    assert not WRITES & (freely["table:payments"] | freely["table:accounts"] | freely["table:journal"])


def test_no_policy_is_larger_than_iam_takes(stacks: Stacks) -> None:
    """CDK estimates the size, by `arnSizeEstimate` in cdk.json, and would put the rest into a managed policy."""
    assert not stacks.properties("AWS::IAM::ManagedPolicy")
    for policy in stacks.properties("AWS::IAM::Policy").values():
        assert len(_resolved(json.dumps(policy["PolicyDocument"], separators=(",", ":")))) < IAM_TAKES


def _resolved(document: str) -> str:
    """With a long ARN for each reference."""
    text = re.sub(r'\{"(Fn::GetStackOutput|Fn::GetAtt)":.*?(\}\}|\]\})', f'"{LONG_ARN}"', document)
    return re.sub(r'\{"Ref":.*?\}', '"ap-southeast-1"', text)


def test_no_grant_depends_on_anything_else(stacks: Stacks) -> None:
    for found in statements(stacks).values():
        assert all(
            each.get("Condition") in (None, IN_TRANSACTIONS, *OWNERS)
            or named(each) is not None
            or leading(each) is not None
            for each in found
        )


@pytest.mark.parametrize("role", GRANTED)
def test_data_keys_of_some_owners_stay_closed_to_a_role(stacks: Stacks, role: str) -> None:
    """The local engine evaluates no such condition."""
    if stacks.environment.name != "local":
        allowed, condition = GRANTED_BY_OWNERS.get(role, ({}, {"none": {}}))
        assert grants(stacks, role, condition=condition) == allowed


def named(statement: dict[str, Any]) -> set[str] | None:
    """The attributes that a statement is bound to."""
    match statement.get("Condition"):
        case {"ForAllValues:StringEquals": {"dynamodb:Attributes": list(attributes)}}:
            return set(attributes)
        case _:
            return None


@pytest.mark.parametrize("role", GRANTED)
def test_some_writes_may_name_certain_attributes_only(stacks: Stacks, role: str) -> None:
    bound = {
        stacks.text(statement["Resource"]): (set(as_list(statement["Action"])), attributes)
        for statement in statements(stacks)[role]
        if (attributes := named(statement)) is not None
    }
    assert bound == GRANTED_BY_ATTRIBUTES.get(role, {})


def leading(statement: dict[str, Any]) -> str | None:
    """The pattern of the partition keys that a statement is bound to."""
    match statement.get("Condition"):
        case {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [str(pattern)]}}:
            return pattern
        case _:
            return None


@pytest.mark.parametrize("role", GRANTED)
def test_some_writes_may_change_certain_rows_only(stacks: Stacks, role: str) -> None:
    bound = {
        stacks.text(statement["Resource"]): (set(as_list(statement["Action"])), pattern)
        for statement in statements(stacks)[role]
        if (pattern := leading(statement)) is not None
    }
    assert bound == GRANTED_BY_KEYS.get(role, {})


def test_no_function_makes_an_operators_key(stacks: Stacks) -> None:
    for role in GRANTED:
        assert not (WRITES - {DELETE}) & grants(stacks, role)["table:keys"]
        assert all("operator" not in (named(statement) or ()) for statement in statements(stacks)[role])


def test_the_erasure_alone_deletes_rows(stacks: Stacks) -> None:
    """And money only in transactions; `archive` deletes its own rows of `slots`, see GRANTED_BY_KEYS."""
    deletes = {DELETE, "dynamodb:BatchWriteItem", "dynamodb:PartiQLDelete"}
    for role, found in statements(stacks).items():
        actions = {action for each in found for action in as_list(each["Action"])}
        if role in ("erase", "archive"):
            assert deletes & actions == {DELETE}
        elif role == "sweep":
            assert deletes & actions == {"dynamodb:BatchWriteItem"}
        else:
            assert not deletes & actions, role


def test_no_role_has_a_permission_from_anywhere_else(stacks: Stacks) -> None:
    for role in stacks.properties("AWS::IAM::Role").values():
        assert not {"ManagedPolicyArns", "Policies"} & set(role)
    assert set(statements(stacks)) == set(GRANTED)


def test_no_action_is_a_wildcard(stacks: Stacks) -> None:
    for role in GRANTED:
        for condition in (None, IN_TRANSACTIONS):
            for actions in grants(stacks, role, condition=condition).values():
                assert not [action for action in actions if "*" in action]


def test_on_aws_only_traces_alarms_and_metrics_are_of_every_resource(stacks: Stacks) -> None:
    if stacks.environment.name == "local":
        return
    for role in GRANTED:
        assert grants(stacks, role).get("*", set()) == (
            TRACES if role in stacks.environment.traced else set()
        ) | (ALARMS | METRICS if role == "api" else set())


def test_every_statement_of_a_role_allows(stacks: Stacks) -> None:
    for found in statements(stacks).values():
        assert {statement["Effect"] for statement in found} == {"Allow"}


def test_only_the_executor_becomes_the_reader_of_payloads_and_nobody_else_reads_any(stacks: Stacks) -> None:
    role = stacks.service["Resources"][reader(stacks)]["Properties"]
    (statement,) = role["AssumeRolePolicyDocument"]["Statement"]
    executor = stacks.properties("AWS::Lambda::Function")["run-tasks"]["Role"]
    assert statement == {
        "Action": "sts:AssumeRole",
        "Effect": "Allow",
        "Principal": {"AWS": executor},
    }
    assert role["RoleName"] == f"postdate-{stacks.environment.name}-payload-reader"
    for name in GRANTED.keys() - {"the reader of payloads"}:
        assert not [
            action
            for resource, actions in grants(stacks, name).items()
            for action in actions
            if "s3" in action and "payload-objects" in resource
        ]
        if name not in ("api", "reconcile", "archive", "erase"):
            assert not [
                action for actions in grants(stacks, name).values() for action in actions if "s3" in action
            ]
