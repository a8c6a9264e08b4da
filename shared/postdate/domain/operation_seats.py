"""Seats of a tenant: they limit how many of its operations run at a time."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from postdate.domain.operation import Operation
from postdate.domain.operation_moves import ACTIVE

# Of one tenant at a time.
RUNNING_MAX: Final = 5
# The time from taking a seat to the record of the start.
_SEATED_FOR: Final = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Seat:
    """Taken by an operation at a version, just before its start is recorded."""

    # The id of the operation.
    operation: str
    # The version of the operation when it took the seat.
    version: int
    # The instant of that.
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Seats:
    """The seats of one tenant, in one row."""

    # The owner of the operations.
    tenant: str
    # Seats of operations that run, and of some that have ended since.
    taken: tuple[Seat, ...] = ()
    # 0 before the first seat, one more with each change. Conditional writes compare the version.
    version: int = 0

    def changed(self, kept: Iterable[Seat], operation: Operation, now: datetime) -> "Seats":
        """The next version, with a seat for the operation."""
        own = Seat(operation=operation.id, version=operation.version, at=now)
        return replace(self, taken=(*kept, own), version=self.version + 1)


def sits(seat: Seat, operation: Operation | None, now: datetime) -> bool:
    """True while the seat counts: its operation runs, or took the seat just now and is about to run."""
    if operation is None:
        return False
    return operation.state in ACTIVE or (operation.version == seat.version and now < seat.at + _SEATED_FOR)
