"""The README's first steps, run as they stand there, against a stack on another port than the usual one."""

import json
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any, Final

import pytest

from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack

PATIENCE_SECONDS: Final = 20


@pytest.fixture
def project(stack: RunningStack, tmp_path: Path) -> Path:
    """A folder in which this stack's things lie where `make up PORT=` puts them."""
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    (tmp_path / ".local").mkdir()
    (tmp_path / ".local" / str(stack.place.port)).symlink_to(stack.place.directory)
    return tmp_path


def steps() -> list[str]:
    """The blocks of shell commands between `make up` and AWS."""
    first_steps = (
        (ROOT / "README.md")
        .read_text()
        .partition("## Start, and make a first payment")[2]
        .partition("\n## ")[0]
    )
    blocks = re.findall(r"```sh\n(.*?)```", first_steps, re.DOTALL)
    assert blocks[0] == "make up\n"
    return blocks[1:]


def run(commands: str, project: Path, port: int) -> str:
    ran = subprocess.run(
        ["/bin/bash", "-euo", "pipefail", "-c", commands],
        cwd=project,
        env={"PATH": os.environ["PATH"], "PORT": str(port)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_first_steps_work_with_a_port(stack: RunningStack, project: Path) -> None:
    stack.aws("sqs").purge_queue(QueueUrl=stack.destination_queue_url)
    helpers, money, paid, task, read = steps()

    def told(commands: str) -> str:
        return run(helpers + commands, project, stack.place.port)

    payment = answers(told(money))[-1]
    assert payment["status"] == "PENDING"
    assert answers(told(money))[-1] == payment
    delay = r'"delay_seconds": (\d+)'
    assert number(r"^sleep (\d+)$", paid) > number(delay, money)
    assert number(r"^sleep (\d+)$", task) > number(delay, task)
    registered, _ = answers(told(task))
    wait(told, f"call api_key tasks/{registered['task_id']}", "SUCCEEDED")
    wait(told, f"call api_key payments/{payment['payment_id']}", "COMPLETED")
    listed, account = answers(told(paid))
    assert [each["payment_id"] for each in listed["payments"]] == [payment["payment_id"]]
    assert account["available"] == 250
    assert '{"hello":"world"}' in told(read)


def number(pattern: str, commands: str) -> int:
    (found,) = re.findall(pattern, commands, re.MULTILINE)
    return int(found)


def wait(told: Any, command: str, status: str) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := answers(told(command))[0]["status"]) != status:
        assert time.monotonic() < deadline, f"{command}: {found}"
        time.sleep(0.5)


def answers(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines() if line]
