"""Puts the watermark back to where it stood at an instant, so that the passes since then are made again.

A table that was restored shows its items as they were at that instant. The notes in `slots` are newer and say that all
these items were called, so no sweep would call them again. The new epoch makes the notes void in one write; the sweeper
then makes the passes as after an outage. Calls that were made before are repeated, and the claim decides about each.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import instants
from postdate.domain.errors import NotRecoverable, Unavailable
from postdate.domain.sweeping import AUDITED_AFTER, Groups, Stage, SweepProgress, Watermark
from postdate.stores.passes import KEPT, Passes

# Clocks of sweepers, and the instant of a table's restore, may be apart by this much.
CLOCKS_APART: Final = timedelta(minutes=10)
_DAY: Final = 24 * 60
_TRIES: Final = 5


class NotNoted(NotRecoverable):
    """The table slots has no notes of that time: say from which minute on the passes are to be made again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewind:
    passes: Passes
    groups: Groups

    def stood_at(self, since: datetime) -> int:
        """The last minute up to which every pass had been made at that instant. Raises NotNoted."""
        before = since - CLOCKS_APART
        last = instants.minute_of(before - AUDITED_AFTER)
        stood = None
        # A day at a time: notes are kept for 40 days, and one answer should stay small.
        for day in range(instants.minute_of(before - KEPT), last + 1, _DAY):
            minutes = range(day, min(day + _DAY, last + 1))
            notes = self._notes(minutes)
            for minute in minutes:
                # Notes expire, so the first minutes may have none.
                if stood is None and minute not in notes:
                    continue
                if not self._audited(minute, notes[minute], before):
                    return minute - 1
                stood = minute
        if stood is None:
            raise NotNoted
        return stood

    def put_back(self, minute: int, *, tables: frozenset[str]) -> Watermark:
        """Never raises the watermark. Another one that is put back meanwhile is put back further, or again."""
        for _ in range(_TRIES):
            seen = self.passes.watermark()
            to = Watermark(
                minute=minute if seen is None else min(minute, seen.minute),
                epoch=1 if seen is None else seen.epoch + 1,
                tables=tables,
            )
            if self.passes.put_back(to):
                return to
        raise Unavailable("the watermark is put back by others at the same time")

    def _notes(self, minutes: range) -> dict[int, list[SweepProgress]]:
        found = defaultdict[int, list[SweepProgress]](list)
        for note in self.passes.between(minutes.start, minutes.stop - 1):
            found[note.minute].append(note)
        return found

    def _audited(self, minute: int, notes: list[SweepProgress], before: datetime) -> bool:
        audited = {
            note.group
            for note in notes
            if note.stage is Stage.AUDIT and note.audited_at is not None and note.audited_at < before
        }
        return audited.issuperset(range(self.groups.count(minute)))
