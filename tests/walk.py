"""Counts how far a reader walks through the product to follow one payment, one failing task, or one late occurrence.

    .venv/bin/python -m tests.walk

The product's own code runs over stores in memory. A reader enters a file with each call of a function in it. A return
is an entry from another file into a file that the reader has left before. Functions that Python generates do not count,
nor does anything inside the stores in memory, which stand for requests to AWS.
"""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final

from postdate.targets.base import Failed
from tests.unit.api.payments.conftest import Bank
from tests.unit.doubles import MINUTE, a_task, message
from tests.unit.run_tasks.conftest import Running
from tests.unit.run_tasks.plans import a_definition, run_at_start

_ROOT: Final = Path(__file__).parents[1]
_PRODUCT: Final = tuple(f"{_ROOT / folder}/" for folder in ("functions", "shared"))
_IN_MEMORY: Final = "_memory.py"


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    files: int
    functions: int
    returns: int


def payment() -> Walk:
    """One payment from its registration to its settlement."""
    bank = Bank()
    return _walk(lambda: bank.settle(bank.registered()))


def failing_task() -> Walk:
    """One attempt of a task whose receiver answers 500."""
    running, task = Running(), a_task()
    running.stores(task)
    running.target.script[task.id].append(Failed(reason="http 500"))
    return _walk(lambda: running.run(message(task)))


def late_occurrence() -> Walk:
    """One occurrence of a task of every minute, called ten minutes late."""
    running, definition = Running(), a_definition()
    run = run_at_start(definition)
    running.definitions.add(definition)
    running.stores(run)
    running.clock.move(10 * MINUTE)
    return _walk(lambda: running.run(message(run)))


def _walk(act: Callable[[], object]) -> Walk:
    entered: list[tuple[str, str]] = []
    in_store: list[FrameType] = []

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if in_store:
            if event == "return" and frame is in_store[0]:
                in_store.clear()
        elif event == "call" and code.co_filename.endswith(_IN_MEMORY):
            in_store.append(frame)
        elif event == "call" and code.co_filename.startswith(_PRODUCT) and not code.co_name.startswith("<"):
            entered.append((code.co_filename, code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        act()
    finally:
        sys.setprofile(before)
    files = [file for file, _ in entered]
    left, returns = set[str](), 0
    for here, following in pairwise(files):
        if following != here:
            left.add(here)
            returns += following in left
    return Walk(files=len(set(files)), functions=len(set(entered)), returns=returns)


if __name__ == "__main__":
    for made in (payment, failing_task, late_occurrence):
        print(made.__name__, asdict(made()))
