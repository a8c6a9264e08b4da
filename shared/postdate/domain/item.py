"""The common part of tasks and payments: an id that tells the kind, an instant, and a phase."""

from datetime import datetime
from enum import Enum, auto
from typing import Protocol


class Phase(Enum):
    """WAITS for its instant, RUNS while a worker has it, RESTS when no call is needed: it has ended, or a person
    has to decide."""

    WAITS = auto()
    RUNS = auto()
    RESTS = auto()


class Item(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def tenant(self) -> str: ...

    @property
    def version(self) -> int: ...

    @property
    def due_at(self) -> datetime: ...

    @property
    def moved_at(self) -> datetime: ...

    @property
    def lease_until(self) -> datetime | None: ...

    @property
    def phase(self) -> Phase: ...


def kind_of(id: str) -> str:
    """`task` or `pay`: what stands before an id's last underscore."""
    return id.rpartition("_")[0]
