"""`make test`: the suite side by side, which on two cores takes little longer than its longest part.

The tests on a running stack mostly wait for instants, so there are three such stacks; the other tests compute
meanwhile. The output of the stacks' tests is printed at the end.
"""

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from typing import Final

_PYTEST: Final = (sys.executable, "-m", "pytest")
# Most of the other tests wait as well: for the engine, a time limit or a process.
_IN_PROCESSES: Final = ("--numprocesses", "4")
# Each of these folders brings up a stack. `make browser` and `make documents` run the last two.
_ON_STACKS: Final = ("e2e", "browser", "documents")
# Tests that kill workers come last in their part: the engine starts two workers at a time, and messages sent meanwhile
# wait for them. The last part holds all other files.
_PARTS: Final = (
    ("tempers", "acknowledged", "recurring", "isolation", "operators", "deployment", "survival"),
    ("keys", "logs", "flow", "overview", "alarms"),
)


def main() -> int:
    with ExitStack() as opened:
        parts = [(opened.enter_context(tempfile.TemporaryFile()), tests) for tests in _on_stacks()]
        on_stacks = [
            subprocess.Popen([*_PYTEST, *tests], stdout=file, stderr=subprocess.STDOUT)
            for file, tests in parts
        ]
        try:
            failed = [
                subprocess.run(
                    [*_PYTEST, *_IN_PROCESSES, *(f"--ignore=tests/{folder}" for folder in _ON_STACKS)],
                    check=False,
                ).returncode
            ]
        finally:
            ended = [each.wait() for each in on_stacks]
            sys.stdout.flush()
            for file, _ in parts:
                file.seek(0)
                sys.stdout.buffer.write(file.read())
    return int(any(failed + ended))


def _on_stacks() -> list[tuple[str, ...]]:
    """Arguments of pytest for each stack."""
    named = [tuple(f"tests/e2e/test_{name}.py" for name in part) for part in _PARTS]
    return [*named, ("tests/e2e", *(f"--ignore={path}" for part in named for path in part))]


if __name__ == "__main__":
    sys.exit(main())
