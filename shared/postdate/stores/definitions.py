"""The store of recurring tasks' definitions. Each change is conditional on the version it was decided from."""

from collections.abc import Iterable
from typing import Protocol

from postdate.domain.definition import Definition
from postdate.domain.transitions import Transition
from postdate.stores.rows import FoundRows
from postdate.stores.tasks import Written


class Definitions(Protocol):
    def get(self, id: str) -> Definition | None:
        """The definition, by a consistent read; None if there is none. Raises Unavailable for a row that this code
        cannot read."""

    def get_many(self, ids: Iterable[str]) -> FoundRows[Definition]:
        """Returns the definitions that exist, by a consistent read."""

    def add(self, definition: Definition) -> Written:
        """CONFLICT where one with that id is stored already, unless it is this very one."""

    def change(self, before: Definition, after: Definition, ended: Transition | None = None) -> Written:
        """Written if it is still the version it was decided from; a change that is stored already counts as done. A run
        that is `ended` by the change is written with it, or neither is."""
