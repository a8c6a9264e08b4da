"""The time as a port: what tells it and what waits is given, never reached for."""

import threading
import time
from datetime import datetime
from typing import Protocol

from postdate.domain import instants


class Clock(Protocol):
    def now(self) -> datetime:
        """Now, cut to a whole millisecond: never ahead of itself."""

    def sleep_until(self, instant: datetime) -> None:
        """Returns at the instant or just after it, never before."""


class SystemClock:
    def now(self) -> datetime:
        return instants.from_milliseconds(time.time_ns() // 1_000_000)

    def sleep_until(self, instant: datetime) -> None:
        target = instants.milliseconds(instant) / 1000
        while (left := target - time.time()) > 0:
            threading.Event().wait(left)
