"""Time of each phase in place of its units. It has what the steps of `counting` ask of a meter."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MS: Final = "ms"


class Stopwatch:
    """`taken[phase]` has the milliseconds since it was emptied."""

    def __init__(self) -> None:
        self.taken: dict[str, Counter[str]] = {}

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        # A counter of whole numbers to its type checker; fractions add up all the same.
        self.taken.setdefault(name, Counter())[MS] += 1000 * (time.perf_counter() - began)  # type: ignore[assignment]

    def note(self, name: str, **counts: float) -> None:
        """Requests are not counted."""
