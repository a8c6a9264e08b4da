"""Where tasks are kept: the one truth about them. Every change is conditional on what it was decided from."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.stores.rows import FoundRows


class Written(Enum):
    """What became of one change in a batch of them. REFUSED will not change by itself: somebody has to look."""

    DONE = auto()
    CONFLICT = auto()
    UNAVAILABLE = auto()
    REFUSED = auto()


class Tasks(Protocol):
    """Tasks and runs. A definition is none of them, although its id looks like a task's."""

    def get(self, id: str) -> Task | None:
        """As it is now, not as it was a moment ago. Raises Unavailable for a row that this code cannot read."""

    def get_many(self, ids: Iterable[str]) -> FoundRows[Task]:
        """Those of them that exist, as they are now."""

    def fits(self, task: Task) -> bool:
        """Whether its row, payload included, stays at one write unit a change through a usual life."""

    def add(self, tasks: Sequence[Task]) -> list[Written]:
        """Writes new tasks; CONFLICT where one with that id is stored already, as after an answer that got lost. With
        one that is not due in the minute of its home goes the pointer to it, in the same transaction. Before one that
        is written late goes a pointer for an audit, in the minute in which it is written."""

    def commit(self, transitions: Sequence[Transition]) -> list[Written]:
        """Writes each change if its task is still what it was decided from; a change that is stored already counts
        as done. One that moves its task to another minute writes the pointer there in the same transaction; before one
        that is `audited_from` an instant goes a pointer in that instant's minute."""

    def extend(self, tasks: Sequence[Task], until: datetime) -> list[Written]:
        """Makes the leases of running tasks longer; CONFLICT where a task is no longer this worker's, be it that its
        receiver has it."""

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        """Ids of a tenant's tasks in the order of their home minutes, a moment behind the truth. Definitions come
        first, runs not at all."""

    def runs_listed(self, tenant: str, definition: str, *, after: str, limit: int) -> list[str]:
        """Ids of a definition's runs in the order of their home minutes, a moment behind the truth."""

    def runs_back(self, tenant: str, definition: str, *, before: str, limit: int) -> list[str]:
        """The same the other way round: the newest first, from the end when `before` is empty."""
