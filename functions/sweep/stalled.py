"""Operations whose execution of the state machine died: they are found, and a new execution continues them.

An execution dies if the table of operations cannot be read for longer than its retries last, or if a person ends it.
The operation would stay RUNNING. Its row has all that a new execution needs, and each item is acted on from the version
of the plan, so a second execution acts on no item twice. An execution that lives is left alone, however long it waits.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from postdate.domain import operation_moves as moves
from postdate.domain.errors import Unavailable
from postdate.domain.operation import STALLED_AFTER, Operation
from postdate.domain.operation_moves import ACTIVE
from postdate.runtime import machine as machines
from postdate.runtime.clock import Clock
from postdate.runtime.machine import Machine
from postdate.runtime.observability import logger
from postdate.stores.operations import Operations

_EVERY: Final = timedelta(minutes=5)
# The name of the next execution may be used up by one that died before it wrote its number.
_NAMES_TRIED: Final = 3


@dataclass(kw_only=True, slots=True)
class StalledOperations:
    operations: Operations
    machine: Machine
    clock: Clock
    _looked_at: datetime | None = field(default=None, init=False)

    def look(self) -> list[str]:
        """Continues the operations that stalled, and returns their ids. Looks every five minutes, and returns none in
        between. What cannot be read now is left to the next look."""
        now = self.clock.now()
        if self._looked_at is not None and now < self._looked_at + _EVERY:
            return []
        self._looked_at = now
        try:
            active = self.operations.active()
        except Unavailable:
            return []
        return [id for id in active if self._continued(id)]

    def _continued(self, id: str) -> bool:
        try:
            operation = self.operations.get(id)
            return operation is not None and self._is_stalled(operation) and self._continue(operation)
        except Unavailable:
            logger.warning(
                "an operation could not be looked after", extra={"action": "operation_unseen", "id": id}
            )
            return False

    def _is_stalled(self, operation: Operation) -> bool:
        if operation.state not in ACTIVE or self.clock.now() < operation.changed_at + STALLED_AFTER:
            return False
        return not self.machine.is_running(machines.execution_of(operation.id, operation.run))

    def _continue(self, operation: Operation) -> bool:
        """Writes the number of the next execution, then begins it. An operation that stopped after it was read refuses
        the number, and no execution begins. After a crash in between, a later look continues the operation. Returns
        True if an execution was begun."""
        for tried in range(_NAMES_TRIED):
            operation = moves.started(operation, run=operation.run + 1, now=self.clock.now())
            if not self.operations.change(operation):
                return tried > 0
            machines.begin(self.machine, operation.id, operation.run)
            if self.machine.is_running(machines.execution_of(operation.id, operation.run)):
                break
        return True
