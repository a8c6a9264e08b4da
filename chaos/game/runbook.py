"""The commands of docs/runbook.md, run against the local stack in the place of prod.

Drills name a command by its entry and by how it begins, so a command that leaves the runbook fails its drill.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import botocore.session
from botocore import xform_name

from cli.failure import Failure
from cli.local.once import ROOT
from cli.service import KEY, URL

RUNBOOK: Final = Path(__file__).parents[2] / "docs" / "runbook.md"
# The variable of the runbook that says where the reading of logs begins.
SINCE: Final = "SINCE"
_SESSION: Final = botocore.session.get_session()
_SECONDS: Final = 60


def commands(entry: str, text: str) -> list[str]:
    """The commands under this heading, whole lines."""
    found = re.search(rf"^### {re.escape(entry)}$(.*?)(?=^###? |\Z)", text, re.MULTILINE | re.DOTALL)
    if found is None:
        raise Failure(f"The runbook has no entry {entry}.")
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```", found[1], re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


def asked_of_aws(words: list[str]) -> tuple[str, str, dict[str, Any]]:
    """A command of AWS's command line as service, method of its boto3 client, and arguments."""
    _, service, operation, *given = words
    model = _SESSION.get_service_model(service)
    names = {xform_name(each, "-"): each for each in model.operation_names}
    shape = model.operation_model(names[operation]).input_shape
    members = {xform_name(name, "-"): name for name in shape.members} if shape else {}
    asked: dict[str, Any] = {}
    while given:
        name = members[given.pop(0).removeprefix("--")]
        kind = shape.members[name]
        if kind.type_name == "boolean" or not given or given[0].startswith("--"):
            asked[name] = True
        else:
            asked[name] = _value(given.pop(0), kind)
    return service, xform_name(operation.replace("-", "_")), asked


def _value(text: str, shape: Any) -> Any:
    """An argument as the command line of AWS reads it."""
    match shape.type_name:
        case "list":
            return text.split()
        case "integer" | "long":
            return int(text)
        case "structure":
            parts = dict(part.split("=") for part in text.split(","))
            return {name: _value(part, shape.members[name]) for name, part in parts.items()}
    return text


def _an_hour_ago() -> str:
    return str(int((datetime.now(UTC) - timedelta(hours=1)).timestamp() * 1000))


class Runbook:
    """`aws` gives a boto3 client of a service; `url` is the API's address. Commands name the tenant `tenant`."""

    def __init__(self, *, aws: Callable[[str], Any], url: str, tenant: str = "") -> None:
        self._text = RUNBOOK.read_text(encoding="utf-8")
        self._aws = aws
        self._url = url
        self._tenant = tenant

    def run(
        self, entry: str, begins: str, *, key: str = "", variables: Mapping[str, str] | None = None
    ) -> str:
        """Runs the one command of the entry that begins so, with the values of its variables, and answers what it
        printed. Raises Failure if the runbook has no such command, or the command fails."""
        found = [each for each in commands(entry, self._text) if each.startswith(begins)]
        if len(found) != 1:
            raise Failure(
                f"The runbook's entry {entry} has {len(found)} commands that begin with {begins!r}."
            )
        known = {SINCE: _an_hour_ago(), "TENANT": self._tenant, **(variables or {})}
        text = re.sub(r"\$(\w+)", lambda name: known[name[1]], found[0])
        words = shlex.split(
            text.replace("postdate-prod-", "postdate-local-").replace("/postdate/prod/", "/postdate/local/")
        )
        return self._asked(words) if words[0] == "aws" else self._ours(words, key)

    def _asked(self, words: list[str]) -> str:
        service, method, asked = asked_of_aws(words)
        return repr(getattr(self._aws(service), method)(**asked))

    def _ours(self, words: list[str], key: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "cli.main", *words[1:]],
            cwd=ROOT, env=os.environ | {URL: self._url, KEY: key}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=_SECONDS,
        )  # fmt: skip
        if ran.returncode:
            raise Failure(f"{' '.join(words)} ended with {ran.returncode}: {ran.stderr.strip()}")
        return ran.stdout
