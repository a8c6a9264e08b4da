"""Changes recurring tasks: one conditional write of the definition for each change. After a conflict it decides again.

A change or a resumption begins a new chain: its first run is written before the definition (see `PlannedChain.begin`).
The run to come of the old chain ends in the transaction that writes the definition: no run begins between the look at
the old chain and the change, so the new chain knows how many runs there were and which of them may not be over. The
number of the new plan is drawn: two who change a definition at once, or one who died halfway, must not leave a run that
the other's plan would take for its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from postdate.domain import definition as definitions
from postdate.domain import task_requests, transitions
from postdate.domain.definition import Definition, Reached, State, nothing_left
from postdate.domain.errors import Conflict, InvalidState, NotFound, Unavailable, VersionMismatch
from postdate.domain.following import CHANGED, paused_for
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Task
from postdate.domain.transitions import Transition
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Written
from postdate.use_cases import calls
from postdate.use_cases.plan_templates import Templates
from postdate.use_cases.planned_chain import PlannedChain

_TRIES: Final = 3
# Two requests at once draw the same number once in four billion times.
_DRAWN_BYTES: Final = 4

Changes = Callable[[Definition], dict[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class DefinitionChanger:
    definitions: Definitions
    chain: PlannedChain
    templates: Templates
    queue: Queue
    horizon: Horizon
    clock: Clock
    unique: Callable[[], bytes]

    def load(self, tenant: str, id: str) -> Definition:
        definition = self.definitions.get(id)
        if definition is None or definition.tenant != tenant:
            raise NotFound(f"there is no task {id}")
        return definition

    def edit(
        self, tenant: str, id: str, *, version: int | None, changes: Changes, template: dict[str, Any]
    ) -> Definition:
        """Changes the definition. `changes` computes fields of Definition from the stored definition. `template` has
        fields of Template; a payload in it is a text, not a key. A change to the stored values writes nothing, whatever
        version the client names: the request may be a repetition."""

        def decide(definition: Definition, reached: Reached, now: datetime) -> Definition | None:
            kept = replace(definition.template, **self.templates.kept(definition, template))
            values = {"template": kept, **changes(definition)}
            changed = definitions.change(definition, now=now, reached=reached, **values)
            # A finished task begins again, also by the values that it has.
            if changed.state is definition.state and replace(definition, **values) == definition:
                return None
            return self._on_a_new_plan(changed)

        before, after = self._change(tenant, id, version, decide)
        if before.template.payload.key not in (None, after.template.payload.key):
            self.templates.let_go(before.template.payload, now=self.clock.now())
        return after

    def begin_again(self, tenant: str, id: str) -> Definition:
        """Begins a new chain of runs for an unchanged task: the repair of a task that has lost its next run."""

        def decide(definition: Definition, reached: Reached, now: datetime) -> Definition | None:
            return self._on_a_new_plan(definitions.change(definition, now=now, reached=reached))

        return self._change(tenant, id, None, decide)[1]

    def pause(self, tenant: str, id: str, *, reason: str | None, version: int | None = None) -> Definition:
        def decide(definition: Definition, reached: Reached, now: datetime) -> Definition | None:
            return definitions.pause(definition, now=now, reached=reached, reason=reason)

        return self._change(tenant, id, version, decide)[1]

    def resume(self, tenant: str, id: str, *, version: int | None = None) -> Definition:
        def decide(definition: Definition, reached: Reached, now: datetime) -> Definition | None:
            resumed = definitions.resume(definition, now=now, reached=reached)
            if resumed is not None and self.chain.first(resumed, now=now) is None:
                raise InvalidState(definition.state, f"no run is left: {nothing_left(resumed)}")
            return None if resumed is None else self._on_a_new_plan(resumed)

        return self._change(tenant, id, version, decide)[1]

    def cancel(self, tenant: str, id: str, *, version: int | None) -> Definition:
        def decide(definition: Definition, reached: Reached, now: datetime) -> Definition | None:
            return definitions.cancel(definition, now=now)

        before, after = self._change(tenant, id, version, decide, goes_on=False)
        if before is not after:
            self.templates.let_go(after.template.payload, now=self.clock.now())
        return after

    def _change(
        self,
        tenant: str,
        id: str,
        version: int | None,
        decide: Callable[[Definition, Reached, datetime], Definition | None],
        *,
        goes_on: bool = True,
    ) -> tuple[Definition, Definition]:
        """The definition before and after the change. The progress of the chains is read only if the task `goes_on`."""
        for _ in range(_TRIES):
            now = self.clock.now()
            before = self.load(tenant, id)
            reached, coming = Reached(runs=before.runs_before, not_over=before.before), None
            if goes_on:
                reached, coming = self.chain.reached(before, now=now)
            after = decide(before, reached, now)
            if after is None:
                return before, before
            # After the decision: a request whose change was made already is repeated without an error.
            if version is not None and version != before.version:
                raise VersionMismatch(f"the task has version {before.version}")
            after = self.templates.stored(after, now=now)
            # The first run of the new chain goes before the change. Without the change that run is void.
            first = self._begin(before, after, now)
            end = partial(_ended, after, now=now)
            written = self.definitions.change(before, after, None if coming is None else end(coming))
            if written is Written.DONE:
                calls.send(
                    [] if first is None else [first],
                    queue=self.queue,
                    horizon=self.horizon,
                    now=self.clock.now(),
                )
                # Runs that are left of the old chain end at their instants. The newest end now: no client sees them
                # wait.
                if after.state is State.CANCELLED:
                    self.chain.stop(before, now=self.clock.now())
                else:
                    self.chain.end_queue(before, end)
                return before, after
            if written is not Written.CONFLICT:
                raise Unavailable
        raise Conflict

    def _begin(self, before: Definition, after: Definition, now: datetime) -> Task | None:
        """Begins the new chain, if there is one. A paused task begins its chain when it is resumed."""
        if after.plan == before.plan:
            return None
        if after.state is not State.ACTIVE:
            if self.chain.first(after, now=now) is None:
                raise nothing_left(after)
            return None
        first = self.chain.begin(after, now=now)
        if first is None:
            raise nothing_left(after)
        return first

    def _on_a_new_plan(self, definition: Definition) -> Definition:
        drawn = int.from_bytes(self.unique()[-_DRAWN_BYTES:])
        return replace(definition, plan=definition.plan + drawn)


def _ended(definition: Definition, run: Task, *, now: datetime) -> Transition | None:
    """The end of a run of the old chain that has not begun."""
    if definition.state is State.PAUSED and run.recurs and run.recurs.plan == definition.plan:
        return transitions.skip(run, now=now, why=paused_for(definition))
    return task_requests.cancel(run, now=now, why=CHANGED)
