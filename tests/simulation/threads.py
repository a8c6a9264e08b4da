"""Stand-ins for threads in a run: an executor, a queue and a quota that work in the one thread of the run."""

import concurrent.futures
import queue
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation.hub import SECOND

if TYPE_CHECKING:
    from tests.simulation.inside import Inside

QUOTAS: dict[Any, int] = {}


class AtOnce:
    """An executor whose work is done where it is given, in an order that is drawn."""

    inside: "Inside"

    def __init__(self, workers: int = 1, **_: object) -> None:
        pass

    def __enter__(self) -> "AtOnce":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def submit(self, work: Callable[..., Any], *given: Any) -> concurrent.futures.Future[Any]:
        done: concurrent.futures.Future[Any] = concurrent.futures.Future()
        done.set_result(work(*given))
        return done

    def shutdown(self, **_: object) -> None:
        pass

    def map(self, work: Callable[..., Any], *given: Iterable[Any]) -> Iterator[Any]:
        tasks = list(zip(*given, strict=False))
        places = list(range(len(tasks)))
        self.inside.hub.draws.shuffle(places)
        ended: dict[int, tuple[Any, Exception | None]] = {}
        for place in places:
            try:
                ended[place] = work(*tasks[place]), None
            except Exception as error:
                ended[place] = None, error
        return _told(ended[place] for place in range(len(tasks)))


def _told(ended: Iterable[tuple[Any, Exception | None]]) -> Iterator[Any]:
    for value, error in ended:
        if error is not None:
            raise error
        yield value


class Inbox:
    """A queue between a worker and the deliveries that report to it. They need no thread here."""

    inside: "Inside"

    def __init__(self) -> None:
        self._items: list[Any] = []
        self._waiting: Any = None

    def put(self, item: Any) -> None:
        self._items.append(item)
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self.inside.hub.wake(waiting)

    def get(self, timeout: float | None = None) -> Any:
        hub = self.inside.hub
        until = None if timeout is None else hub.now + round(timeout * SECOND)
        while not self._items:
            if until is not None and hub.now >= until:
                raise queue.Empty
            self._waiting = hub.current
            hub.park(None if until is None else until - hub.now)
            self._waiting = None
        return self._items.pop(0)

    def empty(self) -> bool:
        return not self._items


class Quota:
    """Each worker has a quota of its own for repeats, as if it were a process."""

    inside: "Inside"

    def __init__(self, initial_capacity: int = 500, lock: object = None) -> None:
        self._full = initial_capacity

    def acquire(self, amount: int) -> bool:
        left = QUOTAS.get(self._owner, self._full)
        if amount > left:
            return False
        QUOTAS[self._owner] = left - amount
        return True

    def release(self, amount: int) -> None:
        left = QUOTAS.get(self._owner, self._full)
        QUOTAS[self._owner] = min(self._full, left + amount)

    @property
    def available_capacity(self) -> int:
        return QUOTAS.get(self._owner, self._full)

    @property
    def _owner(self) -> Any:
        actor = self.inside.hub.current
        return None if actor is None else actor.name
