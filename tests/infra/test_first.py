"""The deployment that makes the stacks: it may have to be taken back, and later ones may not."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.aws.preflight import BOOTSTRAP_VERSION
from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import Synthesised


def stacks(name: str, synthesised: Synthesised, *, first: bool) -> tuple[Path, Mapping[str, Any]]:
    """The assembly, and arguments of the CDK's command line for each stack."""
    to = synthesised(f"{name}-first" if first else name, ENVIRONMENTS[name], first=first).assembly
    artifacts = json.loads((to / "manifest.json").read_text())["artifacts"]
    return to, {
        name: each["properties"]
        for name, each in artifacts.items()
        if each["type"] == "aws:cloudformation:stack"
    }


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_stack_is_protected_where_data_is_kept_once_it_stands(name: str, synthesised: Synthesised) -> None:
    kept = {f"postdate-{name}-state"} if name == "prod" else set()
    for first in (False, True):
        _, told = stacks(name, synthesised, first=first)
        protected = {stack for stack, each in told.items() if each["terminationProtection"]}
        assert protected == (set() if first else kept)


def test_the_first_deployment_has_the_templates_of_all_others(synthesised: Synthesised) -> None:
    """But for the alarms that take parameters back: they do not exist yet."""
    (usual, _), (earlier, _) = (stacks("prod", synthesised, first=first) for first in (False, True))
    made = list(earlier.glob("*.template.json"))
    assert len(made) == 3
    for template in made:
        others = json.loads((usual / template.name).read_text())
        for resource in others["Resources"].values():
            if resource["Type"] == "AWS::AppConfig::Environment":
                resource["Properties"]["Monitors"] = []
        assert json.loads(template.read_text()) == others


def test_the_account_is_asked_for_the_bootstrap_that_the_stacks_need(synthesised: Synthesised) -> None:
    _, told = stacks("prod", synthesised, first=False)
    assert {each["requiresBootstrapStackVersion"] for each in told.values()} == {BOOTSTRAP_VERSION}
