"""The receivers of the client's README, each with its framework in an environment of its own."""

import base64
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from standardwebhooks import Webhook

from cli.local import uv
from cli.local.once import BUILD, ROOT, built

README: Final = (ROOT / "client/README.md").read_text(encoding="utf-8")
RECEIVERS: Final = dict(re.findall(r"^```python (\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL))
REQUIREMENTS: Final = ROOT / "requirements" / "frameworks.txt"
ASKS: Final = Path(__file__).with_name("frameworks_asked.py")
SECRET: Final = "whsec_" + base64.b64encode(b"a secret of 24 characters").decode()
OLD: Final = "whsec_" + base64.b64encode(b"an older secret of theirs").decode()
BODY: Final = '{"order": "café 4711"}'


def _install(directory: Path) -> None:
    uv.run("venv", "--quiet", "--python", sys.executable, directory)
    python = directory / "bin" / "python"
    uv.run("pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", REQUIREMENTS)


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter that has the frameworks."""
    return built(BUILD / "frameworks", _install, of=(REQUIREMENTS, sys.version)) / "bin" / "python"


def signed(secret: str, body: str = BODY) -> dict[str, str]:
    now = datetime.now(UTC)
    return {
        "Content-Type": "application/json",
        "webhook-id": "run_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign("run_1", now, body),
    }


def requests() -> dict[str, tuple[dict[str, str], str]]:
    """Requests signed now: a receiver refuses a signature that is some minutes old."""
    return {
        "signed": (signed(SECRET), BODY),
        "signed by the older secret": (signed(OLD), BODY),
        "with another body": (signed(SECRET), BODY.replace("4711", "4712")),
        "signed by nobody": ({"Content-Type": "application/json"}, BODY),
    }


@pytest.mark.parametrize("name", RECEIVERS)
def test_a_receiver_acts_on_signed_requests_only(python: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "receiver.py").write_text(RECEIVERS[name])
    ran = subprocess.run(
        [python, ASKS, name, json.dumps(requests())],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": f"{tmp_path}:{ROOT / 'client'}", "SIGNING_SECRETS": f"{OLD} {SECRET}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    *acted, told = ran.stdout.splitlines()
    statuses: dict[str, Any] = json.loads(told)
    assert statuses == dict(zip(requests(), (204, 204, 401, 401), strict=True))
    assert acted == [f"run_1 {json.loads(BODY)}"] * 2


def test_there_is_a_receiver_for_each_framework_that_is_promised() -> None:
    assert set(RECEIVERS) == {"flask", "fastapi", "lambda"}
