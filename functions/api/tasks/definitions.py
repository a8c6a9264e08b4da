"""Changes recurring tasks: one conditional write of the definition each, decided again when somebody was faster.

A change or a resumption begins a new chain: its first run is written before the definition (see `Chain.begin`). The
number of the new plan is drawn: two who change a definition at once, or one who died halfway, must not leave a run that
the other's plan would take for its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from functions.api import calls
from functions.api.tasks.chain import Chain
from functions.api.tasks.plans import nothing_left
from functions.api.tasks.templates import Templates
from postdate.domain import definition as definitions
from postdate.domain.definition import Definition, State
from postdate.domain.errors import Conflict, InvalidState, NotFound, Unavailable, VersionMismatch
from postdate.domain.sweeping import Horizon
from postdate.domain.task import Task
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Written

_TRIES: Final = 3
_DRAWN_BYTES: Final = 4

Changes = Callable[[Definition], dict[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class DefinitionChanger:
    definitions: Definitions
    chain: Chain
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
        """`changes` are fields of Definition, decided from it as it is; `template` are fields of Template, in which
        a payload comes as its text."""

        def decide(definition: Definition, now: datetime) -> Definition:
            changed = definitions.change(
                definition,
                now=now,
                runs_before=self.chain.made(definition, now=now),
                template=replace(definition.template, **template),
                **changes(definition),
            )
            return self._on_a_new_plan(changed)

        before, after = self._changed(tenant, id, version, decide)
        if before.template.payload.key not in (None, after.template.payload.key):
            self.templates.let_go(before.template.payload, now=self.clock.now())
        return after

    def pause(self, tenant: str, id: str, *, reason: str | None) -> Definition:
        def decide(definition: Definition, now: datetime) -> Definition | None:
            return definitions.pause(definition, now=now, reason=reason)

        return self._changed(tenant, id, None, decide)[1]

    def resume(self, tenant: str, id: str) -> Definition:
        def decide(definition: Definition, now: datetime) -> Definition | None:
            made = self.chain.made(definition, now=now)
            resumed = definitions.resume(definition, now=now, runs_before=made)
            if resumed is not None and self.chain.first(resumed, now=now) is None:
                raise InvalidState(definition.state, f"no run is left: {nothing_left(resumed)}")
            return None if resumed is None else self._on_a_new_plan(resumed)

        return self._changed(tenant, id, None, decide)[1]

    def cancel(self, tenant: str, id: str, *, version: int | None) -> Definition:
        def decide(definition: Definition, now: datetime) -> Definition | None:
            return definitions.cancel(definition, now=now)

        before, after = self._changed(tenant, id, version, decide)
        if before is not after:
            self.templates.let_go(after.template.payload, now=self.clock.now())
        return after

    def _changed(
        self,
        tenant: str,
        id: str,
        version: int | None,
        decide: Callable[[Definition, datetime], Definition | None],
    ) -> tuple[Definition, Definition]:
        """As it was and as it is."""
        for _ in range(_TRIES):
            now = self.clock.now()
            before = self.load(tenant, id)
            after = decide(before, now)
            if after is None:
                return before, before
            if version is not None and version != before.version:
                raise VersionMismatch(f"the task has version {before.version}")
            after = self.templates.stored(after, now=now)
            first = self._begun(before, after, now)
            written = self.definitions.change(before, after)
            if written is Written.DONE:
                calls.send(
                    [] if first is None else [first],
                    queue=self.queue,
                    horizon=self.horizon,
                    now=self.clock.now(),
                )
                if after.state is State.CANCELLED:
                    self.chain.stop(before, now=self.clock.now())
                elif after.plan != before.plan:
                    self.chain.void(before, now=self.clock.now())
                return before, after
            if written is not Written.CONFLICT:
                raise Unavailable
        raise Conflict

    def _begun(self, before: Definition, after: Definition, now: datetime) -> Task | None:
        """A plan that is changed while it is paused begins when it is resumed."""
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
