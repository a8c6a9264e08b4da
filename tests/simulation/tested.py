"""`python -m tests.simulation.tested NAME`: plants the mistake and runs the test that has to fail on it.

The exit code is 0 if the test fails. An error of the test run itself counts as a mistake that is not found.
"""

import sys

import pytest

from tests.simulation.planted import BUGS, planted


def main(name: str) -> int:
    (bug,) = (each for each in BUGS if each.name == name)
    with planted(bug):
        ended = pytest.main(["--quiet", "--numprocesses=0", "-p", "no:cacheprovider", str(bug.test)])
    return 0 if ended is pytest.ExitCode.TESTS_FAILED else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
