"""State machines are deployed as `statemachines/` has them: the tests of every edge run those files."""

import json
import re

from cli.aws.schedules import SCHEDULES
from infra.definitions import definition
from tests.infra.synthesis import Stacks

SCHEDULE = "AWS::Scheduler::Schedule"
MACHINES = "AWS::StepFunctions::StateMachine"
DISTRIBUTED = {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}
FUNCTION = re.compile(r"function:[\w-]+")


def test_a_machine_is_its_file_with_the_names_filled_in(stacks: Stacks) -> None:
    """Also its paths into the context, `$$.Map`: a template of Python would take one `$` away."""
    found = stacks.properties(MACHINES)
    assert {"operation", "recover", "reconcile", "archive"} <= found.keys()
    for name, properties in found.items():
        deployed = stacks.text(properties["DefinitionString"])
        wanted = json.loads(re.sub(r"\$\{\w+\}", "function", definition(name)))
        assert json.loads(FUNCTION.sub("function", deployed)) == wanted, name


def test_what_loops_inside_a_map_is_an_execution_of_its_own(stacks: Stacks) -> None:
    """An execution has 25,000 events at most, and a Map in line adds those of all its items to them."""
    for name, properties in stacks.properties(MACHINES).items():
        states = json.loads(stacks.text(properties["DefinitionString"]))["States"]
        for map_name, each in states.items():
            inner = each.get("ItemProcessor", {"States": {}})
            if any(state["Type"] == "Choice" for state in inner["States"].values()):
                assert inner["ProcessorConfig"] == DISTRIBUTED, (name, map_name)


def test_a_start_knows_each_schedule(stacks: Stacks) -> None:
    names = {each["Name"] for each in stacks.properties(SCHEDULE).values()}
    assert names == {stacks.environment.named(each) for each in SCHEDULES}
