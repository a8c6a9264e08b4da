"""Each command of the runbook against the models of AWS's services, and against our own command line."""

import re
import shlex
from pathlib import Path
from typing import Final

import botocore.session
import pytest
from botocore import xform_name

from cli.main import parser

RUNBOOK: Final = Path("docs/runbook.md").read_text(encoding="utf-8")
BLOCKS: Final = re.findall(r"^ *```sh\n(.*?)^ *```", RUNBOOK, re.MULTILINE | re.DOTALL)
COMMANDS: Final = [line.strip() for block in BLOCKS for line in block.splitlines()]
OF_AWS: Final = sorted({command for command in COMMANDS if command.startswith("aws ")})
SESSION: Final = botocore.session.get_session()


def test_every_command_is_of_a_kind_that_is_tested() -> None:
    assert OF_AWS
    assert {command.split()[0] for command in COMMANDS} <= {"aws", "make", ".venv/bin/postdate"}


@pytest.mark.parametrize("command", OF_AWS)
def test_a_command_is_one_that_aws_knows(command: str) -> None:
    _, service, name, *arguments = shlex.split(command)
    model = SESSION.get_service_model(service)
    operations = {xform_name(each, "-"): each for each in model.operation_names}
    shape = model.operation_model(operations[name]).input_shape
    known = {xform_name(member, "-"): member for member in shape.members} if shape else {}
    given = {argument.removeprefix("--") for argument in arguments if argument.startswith("--")}
    assert given <= known.keys()
    assert {xform_name(each, "-") for each in (shape.required_members if shape else ())} <= given


@pytest.mark.parametrize(
    "command", sorted({each for each in COMMANDS if each.startswith(".venv/bin/postdate ")})
)
def test_a_command_is_one_of_ours(command: str) -> None:
    parser().parse_args(shlex.split(command)[1:])
