"""Guides: all are in the list, and the commands for AWS, which no test runs there, are commands of ours."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from cli.main import parser

GUIDES: Final = Path("docs/guides")
DEPLOYING: Final = (GUIDES / "deploying.md").read_text(encoding="utf-8")
COMMANDS: Final = [
    line for block in re.findall(r"^```sh\n(.*?)^```", DEPLOYING, re.M | re.S) for line in block.splitlines()
]
MAKEFILE: Final = Path("Makefile").read_text(encoding="utf-8")
WORDS_MAX: Final = 600


def test_every_guide_is_in_the_list() -> None:
    listed = re.findall(r"\]\(([a-z-]+\.md)\)", (GUIDES / "README.md").read_text(encoding="utf-8"))
    assert sorted(listed) == sorted(path.name for path in GUIDES.glob("*.md") if path.name != "README.md")


@pytest.mark.parametrize("path", sorted(GUIDES.glob("*.md")), ids=lambda path: path.name)
def test_a_guide_is_short(path: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert len(prose.split()) <= WORDS_MAX


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_for_aws_is_one_of_ours(command: str) -> None:
    program, *arguments = shlex.split(command.replace("<", "").replace(">", ""))
    match program:
        case "make":
            assert re.search(rf"^{arguments[0]}:", MAKEFILE, re.M)
            assert re.fullmatch(r"ENV=(dev|staging|prod)", arguments[1])
        case ".venv/bin/python":
            assert arguments[:2] == ["-m", "cli.local.cdk"]
        case ".venv/bin/postdate" if "--help" in arguments:
            with pytest.raises(SystemExit) as ended:
                parser().parse_args(arguments)
            assert ended.value.code == 0
        case ".venv/bin/postdate":
            parser().parse_args(arguments)
        case _:
            pytest.fail(command)
