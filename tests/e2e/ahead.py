"""Functions of a stack whose clock is ahead: a function's processes begin with a module that moves what SystemClock
reads. The product has no setting for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Final

from tests.e2e.conftest import RunningStack

_SECONDS: Final = "POSTDATE_TEST_AHEAD_SECONDS"
# Python imports a module of this name at its start. Signatures of requests to AWS ask `datetime`, which stays right.
_MODULE: Final = f"""\
import os, time

_real, _ahead = time.time_ns, int(float(os.environ["{_SECONDS}"]) * 1e9)
time.time_ns = lambda: _real() + _ahead
time.time = lambda: time.time_ns() / 1e9
"""


@contextmanager
def ahead(stack: RunningStack, folder: Path, function: str, by: timedelta) -> Iterator[None]:
    """Moves the clock of one function inside the block."""
    (folder / "sitecustomize.py").write_text(_MODULE, encoding="utf-8")
    functions, name = stack.aws("lambda"), f"postdate-local-{function}"
    usual = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    moved = {"PYTHONPATH": str(folder), _SECONDS: str(by.total_seconds())}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": usual | moved})
    try:
        yield
    finally:
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": usual})
