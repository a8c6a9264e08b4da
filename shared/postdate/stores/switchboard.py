"""The switches as one worker knows them: read once for all of its work, and never used when they are too old.

A reading counts from before the question was asked. Money needs a reading of the last two seconds: without one it
waits, because a payment that is late can be made, and one that was made against an operator's word cannot be taken
back. All else goes on by the last good reading, and by the normal position if there is none: an outage of this one
table must not stop tasks and requests.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.errors import Unavailable
from postdate.domain.switch import COUNTS_FOR, Switch
from postdate.runtime.clock import Clock
from postdate.runtime.observability import logger
from postdate.stores.switches import Switches

# A worker's reading is asked for again when it is older than this.
READ_EVERY: Final = timedelta(milliseconds=500)
_NAMES_MAX: Final = 1000
# A clock that is corrected by so little leaves readings as they are. With COUNTS_FOR it makes two seconds.
_SET_BACK_MAX: Final = timedelta(milliseconds=100)


class Switchboard:
    def __init__(self, *, switches: Switches, clock: Clock, read_every: timedelta = READ_EVERY) -> None:
        self._switches = switches
        self._clock = clock
        self._read_every = read_every
        self._read: dict[str, tuple[datetime, Switch]] = {}

    def is_stale(self, names: Iterable[str], at: datetime) -> bool:
        """True if one of these has to be read again for an instant that is near."""
        return any(not self._is_within(name, at, self._read_every) for name in names)

    def look(self, names: Iterable[str]) -> None:
        """Reads those of these switches that are stale, in one request. If they cannot be read, the readings stay."""
        now = self._clock.now()
        stale = [name for name in dict.fromkeys(names) if not self._is_within(name, now, self._read_every)]
        if not stale:
            return
        try:
            found = self._switches.states(stale)
        except Unavailable as error:
            logger.warning(
                "switches could not be read", extra={"action": "switches_unread", "reason": str(error)}
            )
            return
        if len(self._read) > _NAMES_MAX:
            self._read.clear()
        self._read |= {name: (now, switch) for name, switch in found.items()}

    def known(self, name: str) -> Switch | None:
        """The switch by a reading that counts now, for money; None without one."""
        now = self._clock.now()
        return self._read[name][1] if self._is_within(name, now, COUNTS_FOR) else None

    def last(self, name: str) -> Switch:
        """The switch by its last good reading, however old; on if there is none. Not for money."""
        return self._read[name][1] if name in self._read else Switch(name=name)

    def off(self, names: Iterable[str]) -> list[Switch]:
        """The switches of these names that are off by their last good readings. Not for money."""
        return [switch for name in names if not (switch := self.last(name)).on]

    def seconds_left(self, names: Iterable[str]) -> float:
        """The seconds for which the readings of all these switches still count; 0 and less when one does not."""
        now = self._clock.now()
        read_at = [self._read[name][0] if name in self._read else now - COUNTS_FOR for name in names]
        if not read_at or max(read_at) > now + _SET_BACK_MAX:
            return 0.0
        return (min(read_at) + COUNTS_FOR - now).total_seconds()

    def forget(self) -> None:
        """Forgets all readings, for tests that start a process anew."""
        self._read.clear()

    def _is_within(self, name: str, now: datetime, span: timedelta) -> bool:
        """A reading of the future does not count: the clock was set back by more than its usual corrections."""
        if name not in self._read:
            return False
        read_at, _ = self._read[name]
        return read_at - _SET_BACK_MAX <= now < read_at + span
