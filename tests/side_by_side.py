"""`make test`: the suite in two processes, which on two cores takes little longer than the slower half.

The tests on the running stack mostly wait for instants; the others compute meanwhile. What the first say is shown when
the others are done.
"""

import subprocess
import sys
import tempfile

_PYTEST = (sys.executable, "-m", "pytest")


def main() -> int:
    with tempfile.TemporaryFile() as told:
        on_the_stack = subprocess.Popen([*_PYTEST, "tests/e2e"], stdout=told, stderr=subprocess.STDOUT)
        try:
            others = subprocess.run([*_PYTEST, "--ignore=tests/e2e"], check=False).returncode
        finally:
            ended = on_the_stack.wait()
            told.seek(0)
            sys.stdout.flush()
            sys.stdout.buffer.write(told.read())
    return others or ended


if __name__ == "__main__":
    sys.exit(main())
