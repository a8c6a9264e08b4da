"""The schedule of a recurring task: a cron, its bounds, and the jitter of its runs."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Final, Self

from postdate.domain import instants
from postdate.domain.cron import Cron, Occurrence
from postdate.domain.errors import ValidationFailed

JITTER_SECONDS_MAX: Final = 3600
_MOMENT: Final = timedelta(microseconds=1)
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The occurrences of one definition. Jitter is a function of definition and wall time: an occurrence is always due
    at the same instant, and definitions that share a cron are due at different instants."""

    # The cron with its time zone.
    cron: Cron
    # The id of the definition; empty in a preview of a cron alone.
    definition_id: str = ""
    # The first possible instant, included; None without one.
    start_at: datetime | None = None
    # The last possible instant, included; jitter may move a run beyond it. None without one.
    end_at: datetime | None = None
    # The greatest number of runs; None without a limit.
    max_runs: int | None = None
    # The greatest delay of a run behind its occurrence.
    jitter_seconds: int = 0

    @classmethod
    def checked(
        cls,
        *,
        cron: Cron,
        definition_id: str = "",
        start_at: datetime | None = None,
        end_at: datetime | None = None,
        max_runs: int | None = None,
        jitter_seconds: int = 0,
    ) -> Self:
        """The schedule of a request. Raises ValidationFailed, with a reason for each field that makes no schedule."""
        wrong = []
        if start_at and end_at and end_at < start_at:
            wrong.append(("end_at", "is before start_at"))
        if max_runs is not None and max_runs < 1:
            wrong.append(("max_runs", "is at least 1"))
        if not 0 <= jitter_seconds <= JITTER_SECONDS_MAX:
            wrong.append(("jitter_seconds", f"is 0 to {JITTER_SECONDS_MAX}"))
        # A run must not move behind the next occurrence.
        elif timedelta(seconds=jitter_seconds) >= (shortest := cron.shortest_interval()):
            least = shortest // _SECOND
            wrong.append(("jitter_seconds", f"is less than what lies between two runs, here {least} seconds"))
        if wrong:
            raise ValidationFailed(wrong)
        return cls(
            cron=cron,
            definition_id=definition_id,
            start_at=start_at,
            end_at=end_at,
            max_runs=max_runs,
            jitter_seconds=jitter_seconds,
        )

    def next(self, after: datetime, *, runs: int) -> Occurrence | None:
        """The first occurrence planned later than `after`, the `at` of the last one, never its `due_at`.

        `runs` is the number of runs so far. Missed and skipped occurrences do not count.
        """
        if self.max_runs is not None and runs >= self.max_runs:
            return None
        return next(self.walk(after), None)

    def walk(self, after: datetime) -> Iterator[Occurrence]:
        """All occurrences planned later than `after`, in order. `max_runs` does not end them."""
        if self.start_at is not None:
            # The cron yields only later instants, and `start_at` is included.
            after = max(after, max(self.start_at, instants.EPOCH) - _MOMENT)
        occurrences, end_at = self.cron.walk(after), self.end_at
        if self.jitter_seconds:
            occurrences = self._with_jitter(occurrences)
        return occurrences if end_at is None else takewhile(lambda each: each.at <= end_at, occurrences)

    def after(self, wall: datetime) -> Iterator[Occurrence]:
        """All occurrences with a later wall time, in order. A new time-zone database may have moved the instant of this
        wall time, so a search from the instant could find the same wall time again, or omit others."""
        return self.walk(self.cron.first_shown(wall))

    def _with_jitter(self, occurrences: Iterator[Occurrence]) -> Iterator[Occurrence]:
        """Adds the jitter to each occurrence. `occurrences` go on beyond `end_at`, because the jitter of each one ends
        before the next one, also for the last one of the plan. `walk` cuts the result at `end_at` afterwards."""
        occurrence = next(occurrences, None)
        while occurrence is not None:
            following = next(occurrences, None)
            yield self._later(occurrence, following)
            occurrence = following

    def _later(self, occurrence: Occurrence, following: Occurrence | None) -> Occurrence:
        """The occurrence with its jitter. It stays before the next occurrence, also across a change of clocks."""
        most = self.jitter_seconds
        if following is not None:
            most = min(most, (following.at - occurrence.at) // _SECOND - 1)
        name = f"{self.definition_id} {occurrence.wall.isoformat(timespec='minutes')}"
        drawn = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8])
        return replace(occurrence, due_at=occurrence.at + drawn % (most + 1) * _SECOND)
