"""Programs of users against the types of the client and nothing else of this repository: mypy and pyright, strict."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from cli.local import node
from cli.local.once import BUILD, ROOT, built

PLACE: Final = ROOT / "tests/integration/client_types"
PACKAGES: Final = PLACE / "package.json"
SETTINGS: Final = {"typeCheckingMode": "strict", "pythonVersion": "3.11"}
_OF_MYPY: Final = re.compile(r"([\w/]+\.py):(\d+): error")


@pytest.fixture(scope="module")
def pyright() -> Path:
    """The folder where npm has installed it."""
    return built(BUILD / "pyright", lambda to: node.install(PACKAGES, to), of=(PACKAGES,))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with the client as a library, for a user's program."""
    shutil.copytree(ROOT / "client/postdate_client", tmp_path / "postdate_client")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def of_mypy(program: Path) -> set[tuple[str, int]]:
    """File and line of each complaint, also of those about the client itself."""
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary", "."],
        cwd=program, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    found = {(Path(file).name, int(line)) for file, line in _OF_MYPY.findall(ran.stdout)}
    assert bool(found) == (ran.returncode != 0), ran.stdout + ran.stderr
    return found


def of_pyright(program: Path, pyright: Path) -> set[tuple[str, int]]:
    """The same of the other type checker."""
    ran = subprocess.run(
        [node.tools() / "bin/node", pyright / "node_modules/pyright/index.js", "--outputjson",
         "--pythonpath", sys.executable],
        cwd=program, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(ran.stdout)
    assert told["summary"]["filesAnalyzed"] > 1
    lines = [(each["file"], each["range"]["start"]["line"] + 1) for each in told["generalDiagnostics"]]
    return {(Path(file).name, line) for file, line in lines}


def test_mypy_and_pyright_find_nothing_in_a_right_program(program: Path, pyright: Path) -> None:
    shutil.copy(PLACE / "user.py", program)
    assert of_mypy(program) == set()
    assert of_pyright(program, pyright) == set()


def test_both_find_each_wrong_line_and_no_other(program: Path, pyright: Path) -> None:
    shutil.copy(PLACE / "wrong.py", program)
    lines = (PLACE / "wrong.py").read_text().splitlines()
    wrong = {("wrong.py", number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")}
    assert wrong
    assert of_mypy(program) == wrong
    assert of_pyright(program, pyright) == wrong
