"""The browser of the browser tests: found, installed by root, or asked for in one sentence."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from cli.local.once import ROOT
from tests.browser import chromium


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A machine with these programs and no others."""

    def with_programs(*names: str) -> None:
        for name in names:
            program = tmp_path / name
            program.touch(mode=0o755)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(chromium.VARIABLE, raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return with_programs


def never(command: Sequence[str]) -> bool:
    raise AssertionError(command)


def test_a_browser_that_is_there_is_not_installed(machine: Callable[..., None], tmp_path: Path) -> None:
    machine("chromium-browser", "apt-get")
    assert chromium.installed(never) == str(tmp_path / "chromium-browser")


def test_root_installs_it_with_apt_get(machine: Callable[..., None], tmp_path: Path) -> None:
    machine("apt-get")
    ran: list[Sequence[str]] = []

    def run(command: Sequence[str]) -> bool:
        ran.append(command)
        if "install" in command:
            machine("chromium")
        return True

    assert chromium.installed(run) == str(tmp_path / "chromium")
    assert [command[1] for command in ran] == ["update", "install"]


def test_nothing_is_installed_after_a_step_that_failed(machine: Callable[..., None]) -> None:
    machine("apt-get")
    assert chromium.installed(lambda command: False) is None


def test_nobody_else_installs(machine: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    machine("apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert chromium.installed(never) is None


def test_a_machine_without_apt_get_installs_nothing(machine: Callable[..., None]) -> None:
    assert chromium.installed(never) is None


def test_a_program_that_is_named_and_missing_is_not_replaced(
    machine: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    machine("apt-get", "chromium")
    monkeypatch.setenv(chromium.VARIABLE, "of-mine")
    assert chromium.installed(never) is None


def test_a_machine_without_one_is_told_so_in_one_line() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.browser.chromium", "--install"],
        cwd=ROOT, env={chromium.VARIABLE: "of-mine", "PATH": ""}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (2, f"{chromium.MISSING}\n")
