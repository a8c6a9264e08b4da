"""`make test`: the suite side by side, which on two cores takes little longer than its longest part.

The tests on a running stack mostly wait for instants, so there are three such stacks; the other tests compute
meanwhile. The output of the stacks' tests is printed at the end.

A test on a stack that fails is run once more, on a stack with nothing beside it: two cores that run four suites may
miss a time limit. The output names such a test, also when it passes then. All other tests have one try.
"""

import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

_PYTEST: Final = (sys.executable, "-m", "pytest")
# Most of the other tests wait as well: for the engine, a time limit or a process. The simulation's tests stand side by
# side and take minutes, so an idle process takes tests over from the one that has them.
_IN_PROCESSES: Final = (
    "--numprocesses",
    "4",
    "--dist",
    "worksteal",
    "--durations",
    "12",
    "--durations-min",
    "10",
)
# Each of these folders brings up a stack. `make browser` and `make documents` run the last two.
_ON_STACKS: Final = ("e2e", "browser", "documents")
# Tests that kill workers come last in their part: the engine starts two workers at a time, and messages sent meanwhile
# wait for them. The last part holds all other files.
_PARTS: Final = (
    ("tempers", "acknowledged", "recurring", "isolation", "operators", "machines", "deployment", "survival"),
    ("keys", "logs", "flow", "overview", "alarms"),
)
# The exit code of pytest when tests failed and nothing else went wrong.
_TESTS_FAILED: Final = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Tests on one stack. The cache is the part's own: pytest notes there which tests failed."""

    tests: tuple[str, ...]
    cache: Path

    def command(self, *more: str) -> list[str]:
        return [*_PYTEST, *self.tests, "-o", f"cache_dir={self.cache}", *more]

    def again(self) -> int:
        """Runs the failed tests once more, and returns the exit code."""
        told = ("--last-failed", "--last-failed-no-failures", "none", "-rA")
        return subprocess.run(self.command(*told), check=False).returncode


def main() -> int:
    with ExitStack() as opened:
        caches = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        parts = [Part(tests=tests, cache=caches / str(number)) for number, tests in enumerate(_on_stacks())]
        outputs: list[IO[bytes]] = [opened.enter_context(tempfile.TemporaryFile()) for _ in parts]
        on_stacks = [
            subprocess.Popen(part.command(), stdout=output, stderr=subprocess.STDOUT)
            for part, output in zip(parts, outputs, strict=True)
        ]
        try:
            others = subprocess.run(
                [*_PYTEST, *_IN_PROCESSES, *(f"--ignore=tests/{folder}" for folder in _ON_STACKS)],
                check=False,
            ).returncode
        finally:
            ended = [each.wait() for each in on_stacks]
            sys.stdout.flush()
            for output in outputs:
                output.seek(0)
                sys.stdout.buffer.write(output.read())
            sys.stdout.flush()
        if others == 0:
            ended = [
                part.again() if code == _TESTS_FAILED else code
                for part, code in zip(parts, ended, strict=True)
            ]
    return int(any([others, *ended]))


def _on_stacks() -> list[tuple[str, ...]]:
    """Arguments of pytest for each stack."""
    named = [tuple(f"tests/e2e/test_{name}.py" for name in part) for part in _PARTS]
    return [*named, ("tests/e2e", *(f"--ignore={path}" for part in named for path in part))]


if __name__ == "__main__":
    sys.exit(main())
