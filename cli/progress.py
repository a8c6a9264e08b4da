"""Progress of a command and the time of each part, on standard error: standard output is for results."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(doing: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"  {doing:<44} {time.monotonic() - began:5.1f} s", file=sys.stderr, flush=True)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
