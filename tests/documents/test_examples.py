"""Each example, run as its one command against the running stack. An example checks what it promises by itself."""

import os
import subprocess
import sys
from typing import Final

import pytest

from cli.local.once import ROOT
from tests.e2e.conftest import RunningStack

PATIENCE_SECONDS: Final = 300
# The last line that each prints. `examples/worker` runs until it is stopped: tests/documents/test_receivers.py has it.
PRINTED: Final = {
    "escrow": "arrived: paid out; disputed: given back; silent: paid out",
    "payroll": "500 salaries paid once each",
    "queue_worker": "Worked for 9 s under a lease of 5 s, in one attempt.",
    "reminders": "Reminded Ada and Cleo; Ben's appointment was called off.",
    "subscriptions": "ada: paid; ben: past due",
}


def test_every_example_is_run() -> None:
    found = {path.parent.name for path in (ROOT / "examples").glob("*/__main__.py")}
    assert found == {*PRINTED, "worker"}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_does_what_it_says(stack: RunningStack, name: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", f"examples.{name}"],
        cwd=ROOT,
        env=os.environ | {"POSTDATE_LOCAL_DIR": str(stack.place.directory), "PYTHONPATH": "client"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert PRINTED[name] in ran.stdout.splitlines()[-1]
