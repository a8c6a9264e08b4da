"""The progress of the sweep: the groups of each minute that were opened, closed and audited, and when.

After a restore the watermark is put back and a new epoch begins. Notes that sweepers of an earlier epoch still write do
not count, and replace no note that counts.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, Protocol

from postdate.domain.sweeping import SweepProgress, Watermark

KEPT: Final = timedelta(days=40)


class Passes(Protocol):
    def between(self, first: int, last: int) -> Iterable[SweepProgress]:
        """The progress of all groups of these minutes."""

    def get(self, minute: int, group: int) -> SweepProgress | None: ...

    def record(self, progress: SweepProgress) -> None:
        """Never replaces a note of a later epoch."""

    def watermark(self) -> Watermark | None:
        """The watermark of the sweep; None before the first sweep."""

    def raise_watermark(self, to: Watermark) -> None:
        """Never lowers it, and does nothing when a new epoch has begun since `to` was read."""

    def put_back(self, to: Watermark) -> bool:
        """Begins the epoch of `to`, wherever the watermark stands; False when that is not the next epoch."""

    def beat(self) -> tuple[int, datetime] | None:
        """The number of the newest heartbeat and when it was."""

    def next_beat(self, after: int, now: datetime) -> bool:
        """Counts one on; False when another sweeper did."""
