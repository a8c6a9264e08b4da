"""Recurring tasks in memory, for tests."""

from collections.abc import Iterable

from postdate.domain.definition import Definition, State
from postdate.domain.transitions import Transition
from postdate.stores.rows import FoundRows
from postdate.stores.tasks import Listing, Written
from postdate.stores.tasks_memory import MemoryTasks


class MemoryDefinitions:
    """The twin for tests of the rules, held to the same contract; beside these tasks, whose list names them."""

    def __init__(self, *, tasks: MemoryTasks) -> None:
        self._kept: dict[str, Definition] = {}
        self._tasks = tasks

    def get(self, id: str) -> Definition | None:
        return self._kept.get(id)

    def get_many(self, ids: Iterable[str]) -> FoundRows[Definition]:
        found = FoundRows[Definition]()
        found.update({id: self._kept[id] for id in ids if id in self._kept})
        return found

    def add(self, definition: Definition) -> Written:
        kept = self._kept.setdefault(definition.id, definition)
        self._list(kept)
        return Written.DONE if kept == definition else Written.CONFLICT

    def change(self, before: Definition, after: Definition, ended: Transition | None = None) -> Written:
        kept = self._kept.get(before.id)
        if kept == after:
            return Written.DONE
        if kept is None or kept.version != before.version:
            return Written.CONFLICT
        if ended is not None and self._tasks.commit([ended]) != [Written.DONE]:
            return Written.CONFLICT
        self._kept[after.id] = after
        self._list(after)
        return Written.DONE

    def _list(self, definition: Definition) -> None:
        listing = Listing.CANCELLED if definition.state is State.CANCELLED else None
        self._tasks.definitions_listed[definition.id] = (definition.tenant, listing)
