"""The instant from which on a function begins no call to AWS, so that it can still say that AWS is slow.

A function serves one event at a time, so a process has one deadline, which the threads of that event share.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from postdate.domain.errors import Unavailable


class Deadline:
    def __init__(self) -> None:
        self._seconds_left: Callable[[], float] | None = None

    @contextmanager
    def within(self, seconds_left: Callable[[], float]) -> Iterator[None]:
        """Holds the calls of one event to the seconds that this tells."""
        self._seconds_left = seconds_left
        try:
            yield
        finally:
            self._seconds_left = None

    def check(self, call: str) -> None:
        """Raises Unavailable once no second is left."""
        if self._seconds_left is not None and self._seconds_left() <= 0:
            raise Unavailable(f"no time was left for {call}")


_OF_THIS_PROCESS = Deadline()


def of_this_process() -> Deadline:
    return _OF_THIS_PROCESS


def hold(client: Any) -> None:
    """Holds the client's calls, and each repeat of one, to the deadline. A call that has begun goes on."""
    for event in ("before-send", "needs-retry"):
        client.meta.events.register_first(event, _check)


def _check(event_name: str, **_: object) -> None:
    of_this_process().check(event_name.partition(".")[2])
