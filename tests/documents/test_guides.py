"""Each guide, run block by block as it stands there. A block without a language is what the block before it prints."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack, free_port

GUIDES: Final = ROOT / "docs" / "guides"
FIRST: Final = GUIDES / "README.md"
# Commands for AWS, which no test has: their words are checked in tests/unit/test_guides.py.
NOT_RUN: Final = {"deploying.md"}
NAMES: Final = sorted(path.name for path in GUIDES.glob("*.md") if path != FIRST and path.name not in NOT_RUN)
PATIENCE_SECONDS: Final = 120
_BLOCK: Final = re.compile(r"^```(\w*)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHOWN: Final = "===="
_SPACES: Final = re.compile("(?<=[:,]) ")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A block that is run, and the lines that the guide says it prints."""

    language: str
    text: str
    file: str = ""
    printed: str = ""

    @property
    def command(self) -> str:
        if self.language == "sh":
            return self.text
        assert self.language == "python", self.language
        reads = f"cat > {self.file}" if self.file else f"{sys.executable} -"
        return f"{reads} <<'PYTHON'\n{self.text}PYTHON\n"


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for language, file, block in _BLOCK.findall(text):
        if language:
            found.append(Step(language=language, file=file, text=block))
        else:
            found[-1] = replace(found[-1], printed=block)
    return found


def missing(printed: str, told: str) -> list[str]:
    """The lines that a guide tells and that the output lacks. They come in this order, others may come between. Spaces
    of JSON do not count."""
    lines, left = _SPACES.sub("", printed).splitlines(), []
    for line in _SPACES.sub("", told).splitlines():
        pattern = re.compile(".*".join(map(re.escape, line.split("…"))))
        place = next((at for at, each in enumerate(lines) if pattern.fullmatch(each)), None)
        if place is None:
            left.append(line)
        else:
            del lines[: place + 1]
    return left


@pytest.fixture
def project(stack: RunningStack, tmp_path: Path) -> Path:
    """A folder with the project, in which this stack's things lie where `make up PORT=` puts them."""
    for name in (".venv", "client", "examples", "cli", "shared", "functions"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / str(stack.place.port)).symlink_to(stack.place.directory)
    return tmp_path


@pytest.mark.usefixtures("sweeps")
@pytest.mark.parametrize("name", NAMES)
def test_a_guide_does_what_it_says(stack: RunningStack, project: Path, name: str) -> None:
    begin, guide = steps(FIRST.read_text()), steps((GUIDES / name).read_text())
    commands = f"\necho {_SHOWN}\n".join(step.command for step in [*begin, *guide])
    ran = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", commands],
        cwd=project,
        env={"PATH": os.environ["PATH"], "PORT": str(stack.place.port), "RECEIVER_PORT": str(free_port())},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, f"{ran.stdout}\n{ran.stderr}"
    printed = ran.stdout.split(f"{_SHOWN}\n")
    assert len(printed) == len(begin) + len(guide)
    for step, output in zip(guide, printed[len(begin) :], strict=True):
        assert missing(output, step.printed) == [], f"{step.text}\n{output}"


def test_a_line_that_is_not_printed_is_noticed() -> None:
    assert missing('{"a":1,"b":2}\nlater\n', '{…"b":2}\n') == []
    assert missing('{"a":1,"b":2}\n', '{"b":2}\n') == ['{"b":2}']
    assert missing("second\nfirst\n", "first\nsecond\n") == ["second"]
