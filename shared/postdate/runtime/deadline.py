"""The instant from which on a function begins no call to AWS, so that it can still say that AWS is slow.

A function serves one event at a time, so a process has one deadline, which the threads of that event share. A part of
the event may have an earlier one of its own, for some calls only. An event may also have an act that precedes each of
its calls, such as a look at the clock.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from postdate.domain.errors import Unavailable


class Deadline:
    def __init__(self) -> None:
        self._limits: dict[str, Callable[[], float]] = {}
        self._precedes: Callable[[], None] | None = None

    @contextmanager
    def within(self, seconds_left: Callable[[], float], *, only: str = "") -> Iterator[None]:
        """Holds the calls of one event to the seconds that this tells: all of them, or those of the operation `only`.
        Both kinds of limits count at once."""
        self._limits[only] = seconds_left
        try:
            yield
        finally:
            self._limits.pop(only, None)

    @contextmanager
    def preceding(self, act: Callable[[], None]) -> Iterator[None]:
        """Runs `act` before each call of one event, in the thread of the call. A call within `act` runs it again."""
        self._precedes = act
        try:
            yield
        finally:
            self._precedes = None

    def check(self, call: str) -> None:
        """Raises Unavailable once no second is left. A call is named by its operation, with or without its service."""
        for only, seconds_left in list(self._limits.items()):
            if call.endswith(only) and seconds_left() <= 0:
                raise Unavailable(f"no time was left for {call}")

    def precede(self) -> None:
        if self._precedes is not None:
            self._precedes()


_OF_THIS_PROCESS = Deadline()


def of_this_process() -> Deadline:
    return _OF_THIS_PROCESS


def bind(client: Any) -> None:
    """Binds the client's calls, and each repeat of one, to the deadline. A call that has begun goes on."""
    for event in ("before-send", "needs-retry"):
        client.meta.events.register_first(event, _check)
    client.meta.events.register_first("before-parameter-build", _precede)


def _check(event_name: str, **_: object) -> None:
    of_this_process().check(event_name.partition(".")[2])


def _precede(**_: object) -> None:
    of_this_process().precede()
