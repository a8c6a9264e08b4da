"""A user's program against the types of the client and nothing else of this repository: mypy and pyright, strict."""

import json
import os
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
WRONG: Final = """
from postdate_client import Client

def wrong(postdate: Client) -> int:
    payment = postdate.schedule_payment(from_account_id=1, to_account_id="bob", amount="250", delay_seconds=5)
    postdate.account("alice")["avaliable"]
    return payment["description"]
"""


@pytest.fixture(scope="module")
def pyright() -> Path:
    """The folder where npm has installed it."""
    return built(BUILD / "pyright", lambda to: node.install(PACKAGES, to), of=(PACKAGES,))


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A folder with the user's program, and the client as a library."""
    shutil.copytree(ROOT / "client/postdate_client", tmp_path / "postdate_client")
    shutil.copy(PLACE / "user.py", tmp_path)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(SETTINGS))
    return tmp_path


def of_mypy(program: Path) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary", "."],
        cwd=program, env=os.environ | {"PYTHONPATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return ran.stdout + ran.stderr


def of_pyright(program: Path, pyright: Path) -> list[str]:
    """The complaints of the type checker, also those about the client itself."""
    ran = subprocess.run(
        [node.tools() / "bin/node", pyright / "node_modules/pyright/index.js", "--outputjson",
         "--pythonpath", sys.executable],
        cwd=program, capture_output=True, text=True, check=False,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(ran.stdout)
    assert told["summary"]["filesAnalyzed"] > 1
    complaints = [(each["file"], each["message"]) for each in told["generalDiagnostics"]]
    return [f"{Path(file).name}: {message}" for file, message in complaints]


def test_mypy_and_pyright_find_nothing_in_a_right_program(program: Path, pyright: Path) -> None:
    assert of_mypy(program) == ""
    assert of_pyright(program, pyright) == []


def test_both_find_what_is_wrong(program: Path, pyright: Path) -> None:
    (program / "user.py").write_text(WRONG)
    assert of_mypy(program).count("error:") == 4
    assert len(of_pyright(program, pyright)) == 4
