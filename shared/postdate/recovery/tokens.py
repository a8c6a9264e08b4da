"""Raises the tokens of what waits in restored slots, before the sweep calls it again.

After the backup, receivers got tokens that the restored rows do not know. A receiver that keeps to its contract
refuses a lower token than the highest it saw, and would refuse every attempt until the numbers have caught up.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from postdate.domain import task_requests
from postdate.domain.errors import Conflict, Unavailable
from postdate.domain.slots import Slot
from postdate.runtime.clock import Clock
from postdate.stores.tasks import Tasks, Written
from postdate.stores.timetable import Timetable

_TOGETHER: Final = 25
# A slot of the promised peak has thousands of tasks.
_WRITERS: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Tokens:
    """Raises tokens in a restored table of tasks."""

    # Both are over the restored table.
    timetable: Timetable
    tasks: Tasks
    clock: Clock
    # The instant that the restored table shows.
    since: datetime
    # True to count and to write nothing.
    dry: bool = False

    def raise_in(self, slots: Iterable[Slot]) -> int:
        """Raises the tokens of tasks stored in these slots or called from them, and returns their number. Raises
        Conflict when tasks change meanwhile."""
        raised = 0
        for slot in slots:
            ids = [entry.due.id for entry in self.timetable.due_in(slot)]
            packs = [ids[start : start + _TOGETHER] for start in range(0, len(ids), _TOGETHER)]
            with ThreadPoolExecutor(_WRITERS) as writers:
                raised += sum(writers.map(self._raise, packs))
        return raised

    def _raise(self, ids: list[str]) -> int:
        now, why = self.clock.now(), f"restored to {self.since.isoformat()}"
        found = self.tasks.get_many(ids).values()
        changes = [
            change
            for task in found
            if (change := task_requests.raise_token(task, now=now, why=why)) is not None
        ]
        written = self.tasks.commit(changes) if changes and not self.dry else []
        if Written.UNAVAILABLE in written:
            raise Unavailable
        # The sweep and requests are stopped, so nothing else should change these tasks.
        if set(written) - {Written.DONE}:
            raise Conflict("tasks change while their tokens are raised")
        return len(changes)
