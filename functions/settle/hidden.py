"""Keeps the messages of a batch hidden from other workers, for a short time at once.

A lost worker's messages come back in seconds, so its payments are late by seconds. A payment needs no lease for that:
the posting's own condition refuses a second settlement. A message that comes back while its worker lives costs a
receive, a read and perhaps a conflict, so a worker that takes long hides its messages again.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from threading import Lock
from typing import Final

from postdate.domain.due import WAIT_MAX
from postdate.runtime import deadline
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Received

Hidden = Sequence[tuple[Received, timedelta]]

# A message stays hidden for so long after the last instant of its batch. SQS counts whole seconds, so it is one second
# at least. On-time batches end within milliseconds and make no further request.
GRACE: Final = timedelta(seconds=2)
# A batch that is still at work so shortly before its messages come back hides them again.
_RENEWED_BEFORE: Final = timedelta(milliseconds=500)
_SECOND: Final = timedelta(seconds=1)
_DOUBLINGS_MAX: Final = 16


class HiddenMessages:
    """Made anew for each batch. Writers of the ledger call it from their threads."""

    def __init__(
        self,
        messages: Sequence[Received],
        *,
        hide: Callable[[Hidden], None],
        clock: Clock,
        lease: timedelta,
    ) -> None:
        self._messages = messages
        self._hide = hide
        self._clock = clock
        self._lease = lease
        self._lock = Lock()
        self.renew_at = clock.now()

    def renew_if_due(self) -> None:
        """Hides the messages if they are about to come back, otherwise does nothing. The request itself is a call to
        AWS, so it comes here again and finds the lock taken."""
        if self._clock.now() < self.renew_at or not self._lock.acquire(blocking=False):
            return
        try:
            # Another thread may have renewed since the look at the clock.
            if (now := self._clock.now()) >= self.renew_at:
                self._renew(now)
        finally:
            self._lock.release()

    @contextmanager
    def renewing(self) -> Iterator[None]:
        """Looks at the time before each call to AWS: a posting that meets conflicts may take seconds."""
        with deadline.of_this_process().preceding(self.renew_if_due):
            yield

    def _renew(self, now: datetime) -> None:
        waits = self._last(now) - now
        hidden = [(each, (waits + self._grace(each)) // _SECOND * _SECOND) for each in self._messages]
        self.renew_at = now + min((time for _, time in hidden), default=self._lease) - _RENEWED_BEFORE
        self._hide(hidden)

    def _last(self, now: datetime) -> datetime:
        """The last instant that the worker waits for; now if it waits for none. Calls that are due later than WAIT_MAX
        are sent again."""
        instants = (due.due_at for each in self._messages for due in each.packet.dues)
        return max((at for at in instants if now < at <= now + WAIT_MAX), default=now)

    def _grace(self, message: Received) -> timedelta:
        """Twice as long after each delivery: a worker may take longer than expected, and eight deliveries have to last
        until workers are back."""
        doublings = min(message.receives - 1, _DOUBLINGS_MAX)
        return min(GRACE * (1 << doublings), self._lease + WAIT_MAX)
