"""Writes the repository's commands, `postdate` and `postdate-sim`, into the environment's folder of programs."""

import sys
import sysconfig
from pathlib import Path
from typing import Final

COMMANDS: Final = {"postdate": "cli.main", "postdate-sim": "tests.simulation.main"}
_PROGRAM: Final = """#!{python}
import sys

from {module} import main

sys.exit(main())
"""


def write(folder: Path, *, python: str) -> None:
    for name, module in COMMANDS.items():
        program = folder / name
        program.unlink(missing_ok=True)
        program.write_text(_PROGRAM.format(python=python, module=module), encoding="utf-8")
        program.chmod(0o755)


if __name__ == "__main__":
    write(Path(sysconfig.get_path("scripts")), python=sys.executable)
