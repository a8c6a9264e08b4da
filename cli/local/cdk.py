"""The CDK command line, with this project's Python and Node; `python -m cli.local.cdk synth ...` runs it by hand."""

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

from cli.failure import Failure
from cli.local import node
from cli.local.once import ROOT

QUIET: Final = {"CDK_DISABLE_CLI_TELEMETRY": "true"}


def command(*arguments: str) -> list[str]:
    tools = node.tools()
    return [str(tools / "bin" / "node"), str(tools / "node_modules" / "aws-cdk" / "bin" / "cdk"), *arguments]


def environment(base: Mapping[str, str]) -> dict[str, str]:
    return {**base, **node.environment(), **QUIET}


def main() -> int:
    try:
        return subprocess.run(
            command(*sys.argv[1:]), cwd=ROOT, env=environment(os.environ), check=False
        ).returncode
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.status


if __name__ == "__main__":
    sys.exit(main())
