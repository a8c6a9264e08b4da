"""A table that was restored takes the place of the one it was made from, for all who use it, by one line."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from infra.environments import PROD
from tests.infra.permissions import GRANTED
from tests.infra.synthesis import Stacks, Synthesised
from tests.infra.test_permissions import IN_TRANSACTIONS, grants

RESTORED = {"items": "postdate-prod-items-2", "journal": "postdate-prod-journal-2"}
ARN = "arn:<AWS::Partition>:dynamodb:<AWS::Region>:<AWS::AccountId>:table/"


@pytest.fixture(scope="module")
def restored(synthesised: Synthesised) -> Stacks:
    return synthesised("restored", replace(PROD, restored=RESTORED))


def renamed(text: str) -> str:
    for name, used in RESTORED.items():
        if text == f"table:{name}" or text.startswith(f"table:{name}/"):
            return text.replace(f"table:{name}", ARN + used)
    return text


def test_each_function_is_given_the_restored_tables_by_name(
    restored: Stacks, stacks_of: Callable[[str], Stacks]
) -> None:
    usual = stacks_of("prod").properties("AWS::Lambda::Function")
    for name, function in restored.properties("AWS::Lambda::Function").items():
        for variable, value in function["Environment"]["Variables"].items():
            table = variable.removesuffix("_TABLE").lower()
            if variable.endswith("_TABLE") and table in RESTORED:
                assert restored.text(value) == RESTORED[table]
            else:
                before = usual[name]["Environment"]["Variables"][variable]
                assert restored.text(value) == stacks_of("prod").text(before)


@pytest.mark.parametrize("condition", [None, IN_TRANSACTIONS], ids=["alone", "in transactions"])
@pytest.mark.parametrize("role", GRANTED)
def test_each_role_has_the_rights_to_them_that_it_had_to_the_others(
    restored: Stacks, stacks_of: Callable[[str], Stacks], role: str, condition: object
) -> None:
    usual = grants(stacks_of("prod"), role, condition=condition)
    assert grants(restored, role, condition=condition) == {
        renamed(resource): actions for resource, actions in usual.items()
    }


def test_the_tables_of_before_stay_as_they_are(restored: Stacks, stacks_of: Callable[[str], Stacks]) -> None:
    assert restored.state["Resources"] == stacks_of("prod").state["Resources"]
    named = {name: restored.state["Outputs"][f"{name.title()}Table"]["Value"] for name in RESTORED}
    assert named == RESTORED
