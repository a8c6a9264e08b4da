"""The steps before a run of a recurring task begins: the worker writes the next run and sends its call. Before each
attempt of any run the worker reads its definition, because no attempt of a cancelled task begins.

Rows first, then their calls, and only then may the run begin. A crash in between brings the run's own message back; it
finds the run as it was and does the same again: the ids follow from the plan, so nothing is written twice.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Final

from functions.run_tasks.before import Before, look_back
from functions.run_tasks.subscribed import Subscribed
from postdate.domain import definition as definitions
from postdate.domain.definition import Definition, Reached
from postdate.domain.due import Due, Via, pack
from postdate.domain.errors import Unavailable
from postdate.domain.following import Followed, follow, in_turn
from postdate.domain.recurrence import Runs
from postdate.domain.sweeping import Horizon
from postdate.domain.task import State, Task
from postdate.domain.transitions import Transition
from postdate.domain.verdicts import Deferred, Dropped
from postdate.runtime.clock import Clock
from postdate.runtime.queue import Queue
from postdate.stores.definitions import Definitions
from postdate.stores.tasks import Tasks, Written
from postdate.stores.vault import Vault

_NOTHING: Final = Before()
# The states of rows whose occurrence does not run. All other rows of later runs are PENDING.
_KEPT_BACK: Final = frozenset({State.SKIPPED, State.MISSED})


@dataclass(frozen=True, kw_only=True, slots=True)
class Ends:
    """A definition whose chain ends, and how far it has come."""

    # The definition.
    definition: Definition
    # The progress of its chains.
    reached: Reached


class ClaimStep(Enum):
    """The decision about a claim. BEGIN: the run begins. ASK_AGAIN: the next run cannot be written or called now.
    DECIDE_AGAIN: the run has changed. FAIL: a person has to look, and the message stays."""

    BEGIN = auto()
    ASK_AGAIN = auto()
    DECIDE_AGAIN = auto()
    FAIL = auto()


_STEPS: Final = {
    Written.UNAVAILABLE: ClaimStep.ASK_AGAIN,
    Written.CONFLICT: ClaimStep.DECIDE_AGAIN,
    Written.REFUSED: ClaimStep.FAIL,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Link:
    """The decision of the chain about one run."""

    # The next step, or the change or answer in place of the claim.
    step: ClaimStep | Transition | Dropped | Deferred
    # The definition that ends with this run; None for others.
    ends: Ends | None = None
    # The states of later runs that were written as missed or skipped.
    kept_back: tuple[State, ...] = ()
    # The number that the search found for a run that begins; None to keep that of the row.
    number: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RunChain:
    definitions: Definitions
    tasks: Tasks
    queue: Queue
    runs: Runs
    horizon: Horizon
    vault: Vault
    clock: Clock
    subscribed: Subscribed

    def foresee(self, tasks: Iterable[Task]) -> None:
        """The first question of a process takes hundreds of milliseconds, so one is asked while there is still time
        until the instant. Only the answer at the instant counts."""
        with suppress(Unavailable):
            if asked := {task.task_id for task in tasks if in_turn(task)}:
                self.definitions.get_many(asked)

    def follow(self, runs: Sequence[Task]) -> list[Link]:
        """Returns one answer for each run, in their order. Raises Unavailable if nothing can be read. The step is FAIL
        if only newer code can read the definition or a row that decides about the run: an unreadable row does not count
        as missing. For a delivery of an event the subscription takes the place of the definition."""
        deliveries = [run for run in runs if run.is_delivery]
        links = self._planned([run for run in runs if not run.is_delivery])
        steps = self.subscribed.steps(deliveries) if deliveries else ()
        links |= {
            run.id: Link(step=step or ClaimStep.BEGIN) for run, step in zip(deliveries, steps, strict=True)
        }
        return [links[run.id] for run in runs]

    def _planned(self, runs: Sequence[Task]) -> dict[str, Link]:
        """The answers for runs of recurring tasks, by the run's id."""
        if not runs:
            return {}
        found = self.definitions.get_many({run.task_id for run in runs})
        for definition in list(found.values()):
            destination = definition.template.destination
            if destination.headers or destination.sealed:
                found[definition.id] = self._seal(definition)
        now = self.clock.now()
        known = [run for run in runs if run.task_id not in found.unreadable]
        # Rows of runs before these decide, so they are read before anything is decided.
        before = look_back(self.tasks, self.runs, [run for run in known if in_turn(run)], found, now=now)
        followed = {}
        for run in known:
            seen = before.get(run.id, _NOTHING)
            if seen.wrong is None:
                followed[run.id] = follow(run, found.get(run.task_id), seen.around, runs=self.runs, now=now)
        # The rows that follow are written before any run begins: a crash leaves a run that is decided again.
        written = self._write(followed)
        return {
            run.id: _link(followed[run.id], written, found.get(run.task_id))
            if run.id in followed
            else Link(step=_STEPS[before.get(run.id, _NOTHING).wrong or Written.REFUSED])
            for run in runs
        }

    def _seal(self, definition: Definition) -> Definition:
        """Seals the headers that an older release kept readable or a replaced data key sealed, in the definition's row
        and in the rows of its later runs. The version stays: a change that was decided before remains valid, and leaves
        the sealed headers."""
        template = definition.template
        with suppress(Unavailable):
            destination = self.vault.sealed(definition.tenant, template.destination)
            destination = self.vault.renewed_headers(definition.tenant, destination)
            if destination == template.destination:
                return definition
            sealed = replace(definition, template=replace(template, destination=destination))
            self.definitions.change(definition, sealed)
            return sealed
        return definition

    def finish(self, ends: Ends) -> None:
        """Marks a recurring task as finished. A lost mark, or one that a change of the definition overtook, does no
        harm."""
        after = definitions.finish(ends.definition, now=self.clock.now(), reached=ends.reached)
        self.definitions.change(ends.definition, after)

    def _write(self, followed: Mapping[str, Followed]) -> dict[str, Written]:
        """Returns the answer for each row and each woken run, by its id. A run whose call cannot be sent now counts
        as not written. Writing may take so long that a row's minute is open by the end of it. A run that is woken is
        called first: its call arrives some seconds later."""
        rows = {row.id: row for each in followed.values() for row in each.rows}
        woken = {each.wakes.after.id: each.wakes for each in followed.values() if each.wakes}
        written = dict(zip(rows, self.tasks.add(list(rows.values())) if rows else (), strict=True))
        now = self.clock.now()
        called = [row for row in rows.values() if _wants_call(row, written[row.id])]
        called = [row for row in called if self.horizon.reaches(row.due_at, now)]
        called += [change.after for change in woken.values()]
        try:
            if called:
                self.queue.send(pack(((row.tenant, Due.of(row)) for row in called), Via.REGISTRATION))
        except Unavailable:
            return written | {row.id: Written.UNAVAILABLE for row in called}
        done = zip(woken, self.tasks.commit(list(woken.values())) if woken else (), strict=True)
        # One that changed meanwhile has ended, or asks already.
        return written | {id: Written.DONE if how is Written.CONFLICT else how for id, how in done}


def asks(claim: Transition) -> bool:
    """True if a definition has a say in the claim of this run."""
    return claim.after.state is State.RUNNING or in_turn(claim.before)


def _wants_call(row: Task, written: Written) -> bool:
    """True if this worker sends the call of a row. The worker that wrote the row before may have crashed before it sent
    the call, and may have decided otherwise about the row."""
    return written is Written.CONFLICT or (written is Written.DONE and row.state not in _KEPT_BACK)


def _link(followed: Followed, written: Mapping[str, Written], definition: Definition | None) -> Link:
    woken = [followed.wakes.after] if followed.wakes else []
    results = {written[row.id] for row in (*followed.rows, *woken)}
    # A conflict is no harm here: the row is there.
    for wrong in (Written.REFUSED, Written.UNAVAILABLE):
        if wrong in results:
            return Link(step=_STEPS[wrong])
    ends = None
    if definition is not None and followed.ends is not None:
        ends = Ends(definition=definition, reached=followed.ends)
    return Link(
        step=followed.instead or ClaimStep.BEGIN,
        ends=ends,
        number=followed.number,
        kept_back=tuple(
            row.state for row in followed.rows if row.state in _KEPT_BACK and written[row.id] is Written.DONE
        ),
    )
