"""The monthly bill of everything that watches an environment, from stacks that are synthesised for it."""

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.failure import Failure
from cli.local import cdk
from cli.local.once import ROOT
from infra.environment import Environment
from infra.watch.cost import Line, Template, bill

_SUFFIX = ".template.json"


def billed(environment: Environment) -> list[Line]:
    """Needs no account."""
    with TemporaryDirectory() as folder:
        given = ("synth", "--quiet", "--context", f"env={environment.name}", "--output", folder)
        synthesised = subprocess.run(
            cdk.command(*given),
            cwd=ROOT,
            env=cdk.environment(os.environ),
            check=False,
            capture_output=True,
            text=True,
        )
        if synthesised.returncode:
            raise Failure(f"The stacks could not be synthesised:\n{synthesised.stderr[-2000:]}")
        return bill(environment, _templates(Path(folder), environment.named("")))


def _templates(folder: Path, prefix: str) -> dict[str, Template]:
    return {
        path.name.removesuffix(_SUFFIX).removeprefix(prefix): json.loads(path.read_text(encoding="utf-8"))
        for path in folder.glob(f"{prefix}*{_SUFFIX}")
    }
