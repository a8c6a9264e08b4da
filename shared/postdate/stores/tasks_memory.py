"""Tasks in a dictionary, and the timetable over them: the twin for tests of the rules, held to the same contract."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from postdate.domain import instants
from postdate.domain.definition import is_definition
from postdate.domain.item import kind_of
from postdate.domain.slots import ShardPlan, Slot, home, unique_part
from postdate.domain.tally import Fared
from postdate.domain.task import OPERATION_KIND, State, Task
from postdate.domain.transitions import Transition
from postdate.stores.places import between, place_of
from postdate.stores.rows import FoundRows
from postdate.stores.tasks import Listing, TasksWanted, Written, listing_of
from postdate.stores.timetable import TimetableEntry

_PAYLOAD_BYTES_MAX = 400


class MemoryTasks:
    """`definitions_listed` are ids of definitions with their tenants, and with the list by state that each is in: they
    are listed among tasks."""

    def __init__(self, *, shards: ShardPlan) -> None:
        self._shards = shards
        self._tasks: dict[str, Task] = {}
        self._pointers: dict[Slot, list[TimetableEntry]] = {}
        self.definitions_listed: dict[str, tuple[str, Listing | None]] = {}

    def fits(self, task: Task) -> bool:
        return len((task.payload.text or "").encode()) <= _PAYLOAD_BYTES_MAX

    def add(self, tasks: Sequence[Task]) -> list[Written]:
        return [self._insert(task) for task in tasks]

    def get(self, id: str) -> Task | None:
        home(id)
        return self._tasks.get(id)

    def get_many(self, ids: Iterable[str]) -> FoundRows[Task]:
        found = FoundRows[Task]()
        found.update({id: self._tasks[id] for id in ids if id in self._tasks})
        return found

    def commit(self, transitions: Sequence[Transition]) -> list[Written]:
        return [self._change(transition) for transition in transitions]

    def extend(self, tasks: Sequence[Task], until: datetime) -> list[Written]:
        return [self._extend(task, until) for task in tasks]

    def entries(self, ids: Iterable[str], *, fared: bool = False) -> dict[str, TimetableEntry]:
        return {id: _entry(task, fared) for id, task in self.get_many(ids).items()}

    def due_in(self, slot: Slot, *, fared: bool = False) -> Iterator[TimetableEntry]:
        yield from [_entry(task, fared) for task in self._tasks.values() if task.home == slot]
        yield from list(self._pointers.get(slot, ()))

    def listed(
        self, wanted: Sequence[TasksWanted], *, after: str, limit: int, newest_first: bool = False
    ) -> list[str]:
        found: set[str] = set()
        for each in wanted:
            ends = between(each.since, each.until, after=after, newest_first=newest_first)
            if ends is not None:
                found |= {place for place in self._places(each) if ends[0] <= place <= ends[1]}
        return sorted(found, reverse=newest_first)[:limit]

    def _places(self, wanted: TasksWanted) -> Iterator[str]:
        for task in self._tasks.values():
            if task.tenant == wanted.tenant and kind_of(task.id) != OPERATION_KIND and _is_in(task, wanted):
                yield place_of(task.planned_at, task.id)
        for id, (tenant, listing) in self.definitions_listed.items():
            if wanted.runs and wanted.listing is None:
                continue
            if tenant == wanted.tenant and wanted.listing in (None, listing):
                yield place_of(instants.EPOCH, id)

    def runs_listed(self, tenant: str, definition: str, *, after: str, limit: int) -> list[str]:
        found = (task for task in self._tasks.values() if task.tenant == tenant and task.recurs is not None)
        ids = (task.id for task in found if task.task_id == definition and task.id > after)
        return sorted(id for id in ids if kind_of(id) != OPERATION_KIND)[:limit]

    def runs_back(self, tenant: str, definition: str, *, before: str, limit: int) -> list[str]:
        ids = self.runs_listed(tenant, definition, after="", limit=len(self._tasks))
        return [id for id in reversed(ids) if not before or id < before][:limit]

    def _extend(self, task: Task, until: datetime) -> Written:
        stored = self._tasks.get(task.id)
        if stored is None or stored.state is not State.RUNNING:
            return Written.CONFLICT
        if (stored.token, stored.holder) != (task.token, task.holder):
            return Written.CONFLICT
        self._tasks[task.id] = replace(stored, lease_until=until)
        return Written.DONE

    def _insert(self, task: Task) -> Written:
        if task.is_written_late:
            self._point(task, task.moved_at)
        if task.id in self._tasks:
            return Written.CONFLICT
        self._tasks[task.id] = task
        if not task.home.holds(task.due_at):
            self._point(task, task.due_at)
        return Written.DONE

    def _change(self, transition: Transition) -> Written:
        if transition.audited_from is not None:
            self._point(transition.after, transition.audited_from)
        stored = self._tasks.get(transition.before.id)
        if (
            stored is not None
            and replace(stored, lease_until=transition.after.lease_until) == transition.after
        ):
            return Written.DONE
        if stored is None or stored.version != transition.before.version:
            return Written.CONFLICT
        if transition.over_lease and stored.lease_until != transition.before.lease_until:
            return Written.CONFLICT
        self._tasks[stored.id] = transition.after
        if transition.points:
            self._point(transition.after, transition.after.due_at)
        return Written.DONE

    def _point(self, task: Task, at: datetime) -> None:
        slot = self._shards.slot(at, unique_part(task.id))
        self._pointers.setdefault(slot, []).append(replace(TimetableEntry.of(task), phase=None))


def _is_in(task: Task, wanted: TasksWanted) -> bool:
    if wanted.listing is not None:
        return wanted.listing is listing_of(task)
    if task.recurs is None:
        return not wanted.runs
    return wanted.runs and is_definition(task.recurs.definition)


def _entry(task: Task, fared: bool) -> TimetableEntry:
    return TimetableEntry.of(task, fared=Fared.of_task(task) if fared else None)
