"""The machine's own Chromium: the tests download no browser. `--install` installs Debian's if there is none."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Final

VARIABLE: Final = "CHROMIUM"
NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING: Final = (
    "The browser tests need Chromium and found none. Install it (Debian: `apt-get install chromium`), or name the "
    f"program: `make browser {VARIABLE}=<path>`."
)
_INSTALLS: Final = (
    ("apt-get", "update", "--quiet"),
    ("apt-get", "install", "--quiet", "--yes", "--no-install-recommends", "chromium"),
)


def found() -> str | None:
    """The path of the program that the environment names, or of the first one on the path."""
    named = os.environ.get(VARIABLE)
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def installed(run: Callable[[Sequence[str]], bool]) -> str | None:
    """The path of a program that is there, or that apt-get installs. None for a user other than root, without apt-get,
    or after an installation that failed. A program that the environment names is not installed."""
    may = os.geteuid() == 0 and shutil.which("apt-get") is not None and not os.environ.get(VARIABLE)
    return found() or (found() if may and all(map(run, _INSTALLS)) else None)


def _run(command: Sequence[str]) -> bool:
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=quiet, stdout=sys.stderr, check=False).returncode == 0


if __name__ == "__main__" and (installed(_run) if "--install" in sys.argv else found()) is None:
    print(MISSING, file=sys.stderr)
    sys.exit(2)
