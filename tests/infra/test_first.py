"""The deployment that makes the stacks: it may have to be taken back, and later ones may not."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cli.aws.preflight import BOOTSTRAP_VERSION
from infra.app import postdate
from infra.environments import ENVIRONMENTS
from tests.infra.synthesis import app


def stacks(name: str, build: Path, to: Path, *, first: bool) -> Mapping[str, Any]:
    """Arguments of the CDK's command line for each stack."""
    synthesised = app(to)
    postdate(synthesised, ENVIRONMENTS[name], build=build, first=first)
    synthesised.synth()
    artifacts = json.loads((to / "manifest.json").read_text())["artifacts"]
    return {
        name: each["properties"]
        for name, each in artifacts.items()
        if each["type"] == "aws:cloudformation:stack"
    }


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_stack_is_protected_where_data_is_kept_once_it_stands(
    name: str, build: Path, tmp_path: Path
) -> None:
    kept = {f"postdate-{name}-state"} if name == "prod" else set()
    for first in (False, True):
        told = stacks(name, build, tmp_path / str(first), first=first)
        protected = {stack for stack, each in told.items() if each["terminationProtection"]}
        assert protected == (set() if first else kept)


def test_the_first_deployment_has_the_templates_of_all_others(build: Path, tmp_path: Path) -> None:
    """But for the alarms that take parameters back: they do not exist yet."""
    for first in (False, True):
        stacks("prod", build, tmp_path / str(first), first=first)
    made = list((tmp_path / "True").glob("*.template.json"))
    assert len(made) == 3
    for template in made:
        others = json.loads((tmp_path / "False" / template.name).read_text())
        for resource in others["Resources"].values():
            if resource["Type"] == "AWS::AppConfig::Environment":
                resource["Properties"]["Monitors"] = []
        assert json.loads(template.read_text()) == others


def test_the_account_is_asked_for_the_bootstrap_that_the_stacks_need(build: Path, tmp_path: Path) -> None:
    told = stacks("prod", build, tmp_path, first=False).values()
    assert {each["requiresBootstrapStackVersion"] for each in told} == {BOOTSTRAP_VERSION}
