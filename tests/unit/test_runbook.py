"""Each command of the runbook against the models of AWS's services, and against our own command line."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import botocore.session
import pytest
from botocore import xform_name

from cli.main import parser

RUNBOOK: Final = Path("docs/runbook.md").read_text(encoding="utf-8")
_SETS: Final = re.compile(r"[A-Z_]+=")
_BLOCK: Final = re.compile(r"^ *```sh\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def lines(text: str) -> list[str]:
    return [line.strip() for block in _BLOCK.findall(text) for line in block.splitlines()]


COMMANDS: Final = lines(RUNBOOK)
# The lines that set a variable, in their order, and their names.
SETS: Final = [line for line in COMMANDS if _SETS.match(line)]
VARIABLES: Final = [line.partition("=")[0] for line in SETS]
OF_AWS: Final = sorted({command for command in COMMANDS if command.startswith("aws ")})
INSIDE: Final = [found for line in SETS for found in re.findall(r"\$\((aws .+)\)$", line)]
# Options that every command of AWS has.
OF_ALL: Final = frozenset({"query", "output"})
MOVES: Final = [command for command in OF_AWS if command.split()[2] == "start-message-move-task"]
SESSION: Final = botocore.session.get_session()


def test_every_command_is_of_a_kind_that_is_tested() -> None:
    assert OF_AWS
    assert INSIDE
    assert {command.split()[0] for command in COMMANDS if command not in SETS} <= {
        *("aws", "make", ".venv/bin/postdate"),
    }


@pytest.mark.parametrize("command", [*OF_AWS, *INSIDE])
def test_a_command_is_one_that_aws_knows(command: str) -> None:
    _, service, name, *arguments = shlex.split(command)
    model = SESSION.get_service_model(service)
    operations = {xform_name(each, "-"): each for each in model.operation_names}
    shape = model.operation_model(operations[name]).input_shape
    known = {xform_name(member, "-"): member for member in shape.members} if shape else {}
    given = {argument.removeprefix("--") for argument in arguments if argument.startswith("--")}
    assert given <= known.keys() | (OF_ALL if command in INSIDE else set())
    assert {xform_name(each, "-") for each in (shape.required_members if shape else ())} <= given
    # Without it the whole group is read, of up to 90 days.
    assert name != "filter-log-events" or "start-time" in given


@pytest.mark.parametrize(
    "command", sorted({each for each in COMMANDS if each.startswith(".venv/bin/postdate ")})
)
def test_a_command_is_one_of_ours(command: str) -> None:
    parser().parse_args(shlex.split(command)[1:])


def test_every_variable_is_set_by_a_line_before_it_or_named_in_its_entry() -> None:
    assert list(unknown(RUNBOOK)) == []
    assert list(unknown("## One\n```sh\naws sqs purge-queue --queue-url $URL\n```\n")) == [("One", "URL")]
    assert list(unknown("## One\n```sh\nURL=x\n```\n## Two\n```sh\naws $URL\n```\n")) == []
    assert list(unknown("## One\nSet `URL`.\n## Two\n```sh\naws $URL\n```\n")) == []
    assert list(unknown("## One\n## Two\nSet `URL`.\n## Three\n```sh\naws $URL\n```\n")) == [("Three", "URL")]


def unknown(text: str) -> Iterator[tuple[str, str]]:
    """Entries, and variables in them whose value a reader is not told. What the first entry names counts for all."""
    entries = re.split(r"^##+ ", text, flags=re.MULTILINE)[1:]
    known = set(re.findall(r"`([A-Z_]+)`", _BLOCK.sub("", entries[0])))
    for entry in entries:
        named = set(re.findall(r"`([A-Z_]+)`", _BLOCK.sub("", entry)))
        for line in lines(entry):
            used = re.findall(r"\$(\w+)", line)
            yield from ((entry.partition("\n")[0], name) for name in used if name not in known | named)
            if _SETS.match(line):
                known.add(line.partition("=")[0])


def test_letters_go_back_to_the_queue_that_they_belong_to() -> None:
    """A worker sends letters itself too. SQS knows no source of these, so the command has to name one."""
    assert len(MOVES) == 2
    for command in MOVES:
        _, _, _, *arguments = shlex.split(command)
        given = dict(zip(arguments[::2], arguments[1::2], strict=True))
        queue = given["--source-arn"].removesuffix("_DLQ_ARN")
        assert given["--destination-arn"] == f"{queue}_QUEUE_ARN"
