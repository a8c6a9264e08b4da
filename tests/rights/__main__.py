"""Takes away each function's rights one after the other, and expects a test to fail each time: `make rights`.

The tests that use a right are named in `users.json`. With `--trace` the integration tests run first, and the names are
found anew: those that were named before and still use the right, and then the quickest. Rights that are in `users.json`
and missed by no test are printed, and the run fails.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.rights.golden import rights

USERS: Final = Path(__file__).with_name("users.json")
_KEPT: Final = 4
# They ask the engine for counts of their own, or take minutes and use no other right.
_LEFT_OUT: Final = (
    *("test_write_units.py", "test_client_types.py", "test_reconcile_scale.py", "test_rights_matrix.py"),
    "test_rights_missed.py",
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rights", description=__doc__)
    parser.add_argument("--trace", action="store_true", help="find anew which tests use which rights")
    parser.add_argument("--only", action="append", default=[], help="rights whose names contain this text")
    options = parser.parse_args()
    if options.trace:
        before = json.loads(USERS.read_text(encoding="utf-8"))
        USERS.write_text(json.dumps(_traced(before), indent=1) + "\n", encoding="utf-8")
    wanted = {
        name: tests
        for name, tests in json.loads(USERS.read_text(encoding="utf-8")).items()
        if not options.only or any(each in name for each in options.only)
    }
    files = sorted({test.partition("::")[0] for tests in wanted.values() for test in tests})
    only = [f"--rights-only={each}" for each in options.only]
    return _pytest("--rights-taken", str(USERS), *only, *files)


def _traced(before: Mapping[str, list[str]]) -> dict[str, list[str]]:
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace"
        left_out = [f"--ignore=tests/integration/{name}" for name in _LEFT_OUT]
        _pytest("--rights-trace", str(trace), "--numprocesses=2", *left_out, "tests/integration")
        for file in Path(folder).iterdir():
            for line in file.read_text(encoding="utf-8").splitlines():
                note = json.loads(line)
                for beyond in note["beyond"]:
                    print(f"no right allows it: {beyond}")
                for right in note["rights"]:
                    found[right].append((note["seconds"], note["test"]))
    return {
        str(right): chosen(found[str(right)], before.get(str(right), ()))
        for right in rights()
        if str(right) in found
    }


def chosen(used: Iterable[tuple[float, str]], before: Sequence[str]) -> list[str]:
    """The tests of a right: the earlier ones that still use it, in their order, and then the quickest. Many quick tests
    use a right and look at nothing that depends on it."""
    quickest = [test for _, test in sorted(used)]
    kept = [test for test in before if test in quickest]
    return [*kept, *(test for test in quickest if test not in kept)][:_KEPT]


def _pytest(*options: str) -> int:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.rights.plugin", *options]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
