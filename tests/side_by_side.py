"""`make test`: the suite side by side, which on two cores takes little longer than its longest part.

The tests on a running stack mostly wait for instants, so there are two such stacks; the other tests compute meanwhile.
What is said on the stacks is shown when all is done.
"""

import subprocess
import sys
import tempfile
from contextlib import ExitStack

_PYTEST = (sys.executable, "-m", "pytest")
# Most of the other tests wait as well: for the engine, a time limit or a process.
_IN_PROCESSES = ("--numprocesses", "4")
# Those that kill workers last: two at a time are started anew, and what is sent meanwhile waits for them.
_ON_ONE_STACK = tuple(
    f"tests/e2e/test_{name}.py"
    for name in (
        "tempers",
        "acknowledged",
        "recurring",
        "isolation",
        "flow",
        "operators",
        "alarms",
        "survival",
    )
)
_ON_ANOTHER = ("tests/e2e", *(f"--ignore={path}" for path in _ON_ONE_STACK))


def main() -> int:
    with ExitStack() as opened:
        told = [opened.enter_context(tempfile.TemporaryFile()) for _ in (_ON_ONE_STACK, _ON_ANOTHER)]
        on_stacks = [
            subprocess.Popen([*_PYTEST, *tests], stdout=file, stderr=subprocess.STDOUT)
            for tests, file in zip((_ON_ONE_STACK, _ON_ANOTHER), told, strict=True)
        ]
        try:
            failed = [
                subprocess.run([*_PYTEST, *_IN_PROCESSES, "--ignore=tests/e2e"], check=False).returncode
            ]
        finally:
            ended = [each.wait() for each in on_stacks]
            sys.stdout.flush()
            for file in told:
                file.seek(0)
                sys.stdout.buffer.write(file.read())
    return int(any(failed + ended))


if __name__ == "__main__":
    sys.exit(main())
