"""Where tasks are kept: the one truth about them. Every change is conditional on what it was decided from."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto
from typing import Protocol

from postdate.domain.due import Due
from postdate.domain.slots import Slot
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition


class Written(Enum):
    """What became of one change in a batch of them. REFUSED will not change by itself: somebody has to look."""

    DONE = auto()
    CONFLICT = auto()
    UNAVAILABLE = auto()
    REFUSED = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What a slot's reader sees of a task that is due in it. A pointer knows no state: its task is elsewhere."""

    due: Due
    tenant: str
    moved_at: datetime
    state: State | None
    lease_until: datetime | None

    @classmethod
    def of(cls, task: Task) -> "Entry":
        return cls(
            due=Due.of(task),
            tenant=task.tenant,
            moved_at=task.moved_at,
            state=task.state,
            lease_until=task.lease_until,
        )


class TaskReads(Protocol):
    def get(self, id: str) -> Task | None:
        """As it is now, not as it was a moment ago."""

    def get_many(self, ids: Iterable[str]) -> dict[str, Task]:
        """Those of them that exist."""

    def due_in(self, slot: Slot) -> Iterator[Entry]:
        """Everything that lives in a slot or is pointed to from it, finished or not."""


class Tasks(TaskReads, Protocol):
    def fits(self, task: Task) -> bool:
        """Whether its row, payload included, stays at one write unit a change through a usual life."""

    def add(self, tasks: Sequence[Task]) -> list[Written]:
        """Writes new tasks; CONFLICT where one with that id is stored already, as after an answer that got lost."""

    def commit(self, transitions: Sequence[Transition]) -> list[Written]:
        """Writes each change if its task is still what it was decided from; a change that is stored already counts
        as done. One that moves its task to another minute writes the pointer there in the same transaction."""

    def extend(self, tasks: Sequence[Task], until: datetime) -> list[Written]:
        """Makes the leases of running tasks longer; CONFLICT where a task is no longer this worker's."""

    def listed(self, tenant: str, *, after: str, limit: int) -> list[str]:
        """Ids of a tenant's tasks in the order of their home minutes, a moment behind the truth."""
