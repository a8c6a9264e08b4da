"""The place of the parameters: what goes out is checked, step by step, and taken back by alarms."""

import json

from infra.constructs.parameter_store import SCHEMA, TAKES_BACK
from infra.environments import PROD
from infra.watch.table import alarms
from tests.infra.synthesis import Stacks, Synthesised

STAGE = "AWS::AppConfig::Environment"


def test_appconfig_checks_each_document_with_the_schema(stacks: Stacks) -> None:
    (profile,) = stacks.properties("AWS::AppConfig::ConfigurationProfile").values()
    (validator,) = profile["Validators"]
    assert validator["Type"] == "JSON_SCHEMA"
    assert json.loads(validator["Content"]) == json.loads(SCHEMA.read_text())
    assert (profile["LocationUri"], profile["Type"]) == ("hosted", "AWS.Freeform")


def test_a_change_goes_out_step_by_step_but_where_nobody_is_hurt(stacks: Stacks) -> None:
    strategies = {
        each["Name"].removeprefix(f"postdate-{stacks.environment.name}-"): each
        for each in stacks.properties("AWS::AppConfig::DeploymentStrategy").values()
    }
    assert set(strategies) == {"staged", "at-once"}
    assert strategies["at-once"]["DeploymentDurationInMinutes"] == 0
    if stacks.environment.name == "local":
        assert strategies["staged"]["DeploymentDurationInMinutes"] == 0
        return
    assert strategies["staged"]["DeploymentDurationInMinutes"] >= 10
    assert strategies["staged"]["GrowthFactor"] <= 20
    for each in strategies.values():
        assert each["FinalBakeTimeInMinutes"] >= 10, "alarms need some minutes"


def watcher(stacks: Stacks) -> str:
    """The logical id of the role with which AppConfig looks at the alarms. The list of all rights has its rights."""
    (found,) = (
        id
        for id, each in stacks.state["Resources"].items()
        if each["Type"] == "AWS::IAM::Role"
        and each["Properties"]["AssumeRolePolicyDocument"]["Statement"][0]["Principal"]
        == {"Service": "appconfig.amazonaws.com"}
    )
    return str(found)


def test_alarms_on_metrics_take_a_change_back(stacks: Stacks) -> None:
    (stage,) = stacks.properties(STAGE).values()
    named = [stacks.text(each["AlarmArn"]).rpartition(":")[2] for each in stage["Monitors"]]
    if stacks.environment.watched:
        assert named == [stacks.environment.named(alarm) for alarm in TAKES_BACK]
        assert {*TAKES_BACK} <= {each.name for each in alarms(stacks.environment)}
        assert len(named) <= 5, "the most that AppConfig takes"
        assert {each["AlarmRoleArn"]["Fn::GetAtt"][0] for each in stage["Monitors"]} == {watcher(stacks)}
    else:
        assert named == []


# Functions without a limit, a bound or a flag of their own.
WITHOUT = {
    "authorize": "finds a key or nobody; each limit of a key is kept by api",
    "erase": "erases a tenant to its end, whatever that takes",
    "archive": "writes each event of a day, however many there are",
}


def test_each_function_reads_the_parameters_or_has_a_reason(stacks: Stacks) -> None:
    functions = stacks.properties("AWS::Lambda::Function").values()
    reads = {
        each["FunctionName"].removeprefix(f"postdate-{stacks.environment.name}-"): "PARAMETERS"
        in each["Environment"]["Variables"]
        for each in functions
        if "Environment" in each and str(each.get("FunctionName", "")).startswith("postdate-")
    }
    assert {name for name, does in reads.items() if not does} == WITHOUT.keys()
    assert {"api", "run-tasks", "settle", "sweep", "record", "operate", "reconcile"} <= reads.keys()


def test_the_first_deployment_names_no_alarm_that_does_not_exist_yet(synthesised: Synthesised) -> None:
    resources = synthesised("prod-first", PROD, first=True).state["Resources"].values()
    (stage,) = (each["Properties"] for each in resources if each["Type"] == STAGE)
    assert stage.get("Monitors", []) == []
