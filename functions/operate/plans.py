"""The actions on plans: each is the change that a request of its own would make, at the version that the plan of the
operation saw. Its end is known at once.

A change is one write of the definition (see `plan_changes`), so a slice that is repeated after a crash finds it made.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from postdate.domain.definition import Definition
from postdate.domain.errors import Conflict, InvalidState, NotFound, VersionMismatch
from postdate.domain.operation import Action, Operation
from postdate.domain.operation_items import Item
from postdate.domain.operation_pages import Outcome
from postdate.runtime.author import Author
from postdate.stores.definitions import Definitions
from postdate.use_cases.plan_changes import DefinitionChanger


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanActor:
    """Pauses, resumes and cancels recurring tasks. `definitions` sign their changes with `author`: the operation."""

    definitions: Definitions
    changer: DefinitionChanger
    author: Author

    def known(self, ids: Iterable[str]) -> Mapping[str, Item]:
        return self.definitions.get_many(ids).complete()

    def act(self, operation: Operation, items: Sequence[Item], *, now: datetime) -> dict[str, Outcome]:
        self.author.name = operation.author
        return {each.id: self._changed(operation, each) for each in items if isinstance(each, Definition)}

    def tidied(self, most: int) -> int:
        """Returns 0: plans have no letters."""
        return 0

    def _changed(self, operation: Operation, plan: Definition) -> Outcome:
        """FAILED for a plan that can no longer be in the state that the action leads to."""
        tenant, version = operation.tenant, plan.version
        try:
            match operation.request.action:
                case Action.PAUSE:
                    self.changer.pause(tenant, plan.id, reason=operation.request.reason, version=version)
                case Action.RESUME:
                    self.changer.resume(tenant, plan.id, version=version)
                case _:
                    self.changer.cancel(tenant, plan.id, version=version)
        except InvalidState:
            return Outcome.FAILED
        except (Conflict, NotFound, VersionMismatch):
            return Outcome.CHANGED
        return Outcome.DONE
