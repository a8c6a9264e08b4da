"""The messages that one worker answers for: those of its event, and those that it takes while deliveries keep it.

Lambda deletes the messages of the event after the worker has returned. Messages that the worker received itself it
deletes when all their calls are done. If the worker dies, they become visible again after their visibility timeout.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from functions.run_tasks.batch import Worker
from functions.run_tasks.in_flight import IN_FLIGHT_MAX, InFlight
from postdate.domain.due import WAIT_MAX
from postdate.runtime.further import Further, Took
from postdate.runtime.queue import Received

HELD_AFTER: Final = timedelta(seconds=1)
# A delivery that begins in a message that the worker took has at least this long.
_SECONDS_LEFT_MIN: Final = 120
_DELETED_EVERY: Final = timedelta(seconds=1)


class Intake:
    def __init__(
        self,
        worker: Worker,
        *,
        event: Sequence[Received],
        further: Further,
        extend: Callable[[Iterable[Received], timedelta], None],
        back_off: Callable[[Iterable[Received]], None],
        in_flight: InFlight,
    ) -> None:
        self._worker = worker
        self._event = event
        self._further = further
        self._extend = extend
        self._back_off = back_off
        self._in_flight = in_flight
        self._open: dict[str, Received] = {}
        self._deleted_at = worker.clock.now()
        self.asks = False
        self.taken = 0

    def renew(self) -> None:
        self._extend([*self._event, *self._open.values()], self._worker.lease + WAIT_MAX)

    def asks_at(self, planned: int) -> datetime | None:
        """The instant at which the worker receives further messages, if its deliveries last until then. None while it
        has as many calls as may be in flight, and shortly before its time is over."""
        oldest = self._in_flight.oldest
        full = self._in_flight.count + planned >= IN_FLIGHT_MAX
        if self.asks or oldest is None or full or self._worker.seconds_left() < _SECONDS_LEFT_MIN:
            return None
        return oldest + HELD_AFTER

    def ask(self, took: Took) -> None:
        self.asks = True
        self._further.ask(took, self._worker.lease + WAIT_MAX)

    def took(self, messages: Sequence[Received]) -> None:
        self.asks = False
        self.taken += len(messages)
        self._open |= {message.message_id: message for message in messages}

    def let_go(self, unfinished: Iterable[str], failed: Collection[str], *, at_once: bool = False) -> None:
        """Deletes the received messages whose calls are all done, and backs off those that failed. `unfinished` and
        `failed` are ids of messages. Does nothing within a second of the last time, unless `at_once`."""
        now = self._worker.clock.now()
        if not self._open or (now < self._deleted_at + _DELETED_EVERY and not at_once):
            return
        self._deleted_at = now
        done = [self._open.pop(id) for id in self._open.keys() - set(unfinished)]
        self._further.delete(message for message in done if message.message_id not in failed)
        self._back_off([message for message in done if message.message_id in failed])
