"""The store of tasks. Each change is conditional on the version it was decided from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum, auto
from typing import Protocol, assert_never

from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.stores.rows import FoundRows


class Written(Enum):
    """The answer to one change of a batch. REFUSED does not change by itself: a person has to look at it."""

    DONE = auto()
    CONFLICT = auto()
    UNAVAILABLE = auto()
    REFUSED = auto()


class Listing(StrEnum):
    """Lists of tasks and runs that left the usual path. LINGERING tasks are open: they wait for another attempt or for
    a later instant than the planned one, run since such an instant, or were claimed more than once."""

    LINGERING = "LINGERING"
    DEAD = "DEAD"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"
    SKIPPED = "SKIPPED"
    MISSED = "MISSED"


def listing_of(task: Task) -> Listing | None:
    """The list by state that the task is in; None for none. The usual path, from PENDING over one claim to SUCCEEDED,
    is in no such list and pays for none."""
    match task.state:
        case State.PENDING:
            return None if task.due_at == task.planned_at else Listing.LINGERING
        case State.RUNNING:
            return None if task.token == 1 and task.due_at == task.planned_at else Listing.LINGERING
        case State.RETRYING:
            return Listing.LINGERING
        case State.SUCCEEDED:
            return None
        case State.DEAD | State.CANCELLED | State.EXPIRED | State.SKIPPED | State.MISSED:
            return Listing(task.state.value)
        case _:
            assert_never(task.state)


@dataclass(frozen=True, kw_only=True, slots=True)
class TasksWanted:
    """A part of one list. `since` is its first instant, `until` the first one after the last.

    Without a `listing` the list holds all one-time tasks and definitions of the tenant and no runs, or with `runs` all
    runs of its recurring tasks and nothing else. The place of a definition begins with the first of all instants. A
    list by state also holds runs, deliveries to subscriptions, and cancelled definitions.
    """

    tenant: str
    listing: Listing | None = None
    runs: bool = False
    since: datetime | None = None
    until: datetime | None = None


class Tasks(Protocol):
    """Tasks and runs. A definition is none of them, although its id looks like a task's."""

    def get(self, id: str) -> Task | None:
        """The task, by a consistent read; None if there is none. Raises Unavailable for a row that this code cannot
        read."""

    def get_many(self, ids: Iterable[str]) -> FoundRows[Task]:
        """Returns the tasks that exist, by a consistent read."""

    def fits(self, task: Task) -> bool:
        """True if the row with its payload stays within one write unit for each change of a usual life."""

    def add(self, tasks: Sequence[Task]) -> list[Written]:
        """Writes new tasks. CONFLICT: a task with this id is stored already, for example because an answer was lost.

        A task that is due outside its home minute is written together with a pointer, in one transaction. For a task
        whose minute is over, a pointer for the audit of the current minute is written first.
        """

    def commit(self, transitions: Sequence[Transition]) -> list[Written]:
        """Writes each change if the stored task is still the one that it was decided from. A change that is stored
        already counts as DONE.

        If the task moves to another minute, the same transaction writes the pointer. If `audited_from` is set, a
        pointer for the audit of that minute is written first.
        """

    def extend(self, tasks: Sequence[Task], until: datetime) -> list[Written]:
        """Makes the leases of running tasks longer; CONFLICT where a task is no longer this worker's, be it that its
        receiver has it."""

    def listed(
        self, wanted: Sequence[TasksWanted], *, after: str, limit: int, newest_first: bool = False
    ) -> list[str]:
        """Returns up to `limit` places behind the place `after`, of all these lists together. A place is the planned
        instant and the id, see `places.py`. The index is a moment behind: a task that was just given another instant
        may be listed twice."""

    def runs_listed(self, tenant: str, definition: str, *, after: str, limit: int) -> list[str]:
        """Ids of a definition's runs in the order of their home minutes, a moment behind the truth."""

    def runs_back(self, tenant: str, definition: str, *, before: str, limit: int) -> list[str]:
        """The same the other way round: the newest first, from the end when `before` is empty."""
