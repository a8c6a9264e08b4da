"""The start of the command line: help without the commands' imports, and summaries read from their sources."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cli.local.once import ROOT
from cli.main import DESCRIPTION, main, parser, summary

COMMANDS = sorted(path for path in (ROOT / "cli/commands").glob("*.py") if path.stem != "__init__")
SLOW = {"boto3", "botocore", "pynamodb", "pydantic", "aws_lambda_powertools", "importlib.metadata", "asyncio"}


def imported(*arguments: str) -> set[str]:
    """The modules that a process of the command line imports."""
    script = f"""
import json, sys
from cli.main import main
try:
    main({list(arguments)!r})
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))"""
    ran = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(json.loads(ran.stdout.splitlines()[-1]))


def test_help_imports_no_command_and_no_slow_library() -> None:
    found = imported("--help")
    assert "cli.main" in found
    assert {each for each in found if each.startswith("cli.commands.")} == set()
    # Since Python 3.14 the coloured help of argparse imports both.
    slow = {*SLOW, "inspect", "dataclasses"} if sys.version_info < (3, 14) else SLOW
    assert found & set(slow) == set()


@pytest.mark.parametrize(
    "command", ["call", "explain", "next", "open", "operations", "subscriptions", "tail"]
)
def test_a_command_of_the_api_imports_no_slow_library(command: str) -> None:
    assert imported(command, "--help") & SLOW - {"importlib.metadata"} == set()


@pytest.mark.parametrize("path", COMMANDS, ids=lambda path: path.stem)
def test_the_summary_is_the_first_line_of_the_docstring(path: Path) -> None:
    module = __import__(f"cli.commands.{path.stem}", fromlist=["run"])
    assert summary(path) == (module.__doc__ or "").partition("\n")[0] != ""


def test_every_command_is_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    told = capsys.readouterr().out
    assert all(path.stem.replace("_", "-") in told for path in COMMANDS)


def test_one_command_has_the_arguments_that_it_has_among_all() -> None:
    assert parser(only="keys").parse_args(["keys", "list"]) == parser().parse_args(["keys", "list"])


def test_a_command_that_there_is_not_names_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["kyes"])
    assert ended.value.code == 2
    assert "keys" in capsys.readouterr().err


def test_the_description_is_the_projects() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["description"] == DESCRIPTION
