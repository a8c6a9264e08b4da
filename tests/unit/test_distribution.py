"""The built wheel holds the package that the functions share, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from cli.local import commands


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("wheel")
    build = "from hatchling.build import build_wheel; import sys; print(build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, str(folder)], check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_the_wheel_installs_one_package(names: list[str]) -> None:
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"postdate"}
    assert "postdate/domain/payment.py" in names


def test_the_wheel_has_no_commands_of_the_repository(names: list[str]) -> None:
    assert [name for name in names if name.endswith("entry_points.txt")] == []


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_a_command_of_the_repository_runs_from_any_folder(name: str, tmp_path: Path) -> None:
    commands.write(tmp_path, python=sys.executable)
    told = subprocess.run(
        [tmp_path / name, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout.startswith(f"usage: {name}")
