"""Passes of the sweep in memory, for tests."""

from collections.abc import Iterable
from datetime import datetime

from postdate.domain.sweeping import SweepProgress, Watermark


class MemoryPasses:
    def __init__(self) -> None:
        self._progress: dict[tuple[int, int], SweepProgress] = {}
        self._watermark: Watermark | None = None
        self._beat: tuple[int, datetime] | None = None

    def between(self, first: int, last: int) -> Iterable[SweepProgress]:
        return [progress for progress in self._progress.values() if first <= progress.minute <= last]

    def get(self, minute: int, group: int) -> SweepProgress | None:
        return self._progress.get((minute, group))

    def record(self, progress: SweepProgress) -> None:
        known = self._progress.get((progress.minute, progress.group))
        if known is None or known.epoch <= progress.epoch:
            self._progress[progress.minute, progress.group] = progress

    def watermark(self) -> Watermark | None:
        return self._watermark

    def raise_watermark(self, to: Watermark) -> None:
        known = self._watermark
        if known is None or (known.epoch == to.epoch and known.minute < to.minute):
            self._watermark = to

    def put_back(self, to: Watermark) -> bool:
        if to.epoch - 1 != (self._watermark.epoch if self._watermark else 0):
            return False
        self._watermark = to
        return True

    def beat(self) -> tuple[int, datetime] | None:
        return self._beat

    def next_beat(self, after: int, now: datetime) -> bool:
        if after != (self._beat[0] if self._beat else 0):
            return False
        self._beat = (after + 1, now)
        return True
